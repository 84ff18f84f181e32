package import Media
public import NIOCore

/// The fixed RTP header with its optional parts, RFC 3550 §5.1.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|X|  CC   |M|     PT      |        sequence number        |
/// |                           timestamp                           |
/// |                             SSRC                              |
/// |                   CSRC (0 to 15, CC of them)                  |
/// |   extension profile (if X)    |  extension length (32 bits)   |
/// |                        extension data                         |
/// ```
public struct RTPHeader: Hashable, Sendable {
  /// A header extension, RFC 3550 §5.3.1.
  public struct Extension: Hashable, Sendable {
    /// The profile-defined identifier; 0xBEDE for the one-byte headers of RFC 8285 §4.2.
    public var profile: UInt16
    /// The data; a multiple of 4 bytes, at most 262,140.
    public var data: ByteBuffer

    /// An extension with an identifier and data.
    public init(profile: UInt16, data: ByteBuffer) {
      self.profile = profile
      self.data = data
    }
  }

  /// M, defined by the payload format; in video the last packet of an access unit.
  public var marker: Bool
  /// PT, the payload type, 0 to 127: the format, as the session description assigns it.
  public var payloadType: UInt8
  /// The sequence number: increments by 1 with each packet from a random value, and wraps at 16 bits.
  public var sequenceNumber: UInt16
  /// The sampling instant of the payload's first byte in ticks of the format's clock, from a random start.
  public var timestamp: UInt32
  /// SSRC, the synchronization source: a random identifier of the sender's track, RFC 3550 §8.
  public var ssrc: UInt32
  /// CSRC, the sources that a mixer combined; at most 15.
  public var contributingSources: [UInt32] = []
  /// The header extension; nil without one.
  public var headerExtension: Extension?

  /// Length of a header without optional parts, in bytes.
  public static let fixedLength = 12
  static let version: UInt8 = 2

  /// A header without optional parts; the highest bit of `payloadType` is not serialized.
  public init(marker: Bool, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32) {
    self.marker = marker
    self.payloadType = payloadType
    self.sequenceNumber = sequenceNumber
    self.timestamp = timestamp
    self.ssrc = ssrc
  }

  /// Parses and consumes a header.
  ///
  /// - Parameter hasPadding: Set to whether the packet ends with padding (P).
  package init(parsing buffer: inout ByteBuffer, hasPadding: inout Bool) throws(ParsingError) {
    let start = buffer.readerIndex
    guard
      let (flags, second, sequenceNumber, timestamp, ssrc) = buffer.readMultipleIntegers(
        as: (UInt8, UInt8, UInt16, UInt32, UInt32).self)
    else { throw ParsingError(.truncated, field: "RTP header") }
    guard flags >> 6 == Self.version else { throw ParsingError(.invalid, field: "V") }
    hasPadding = flags & 0b0010_0000 != 0
    self.init(
      marker: second & 0b1000_0000 != 0, payloadType: second & 0b0111_1111, sequenceNumber: sequenceNumber,
      timestamp: timestamp, ssrc: ssrc)
    for _ in 0..<(flags & 0b0000_1111) {
      guard let source = buffer.readInteger(as: UInt32.self) else {
        throw ParsingError(.truncated, field: "CSRC", offset: buffer.readerIndex - start)
      }
      self.contributingSources.append(source)
    }
    if flags & 0b0001_0000 != 0 {
      let offset = buffer.readerIndex - start
      guard
        let (profile, words) = buffer.readMultipleIntegers(as: (UInt16, UInt16).self),
        let data = buffer.readSlice(length: Int(words) * 4)
      else { throw ParsingError(.truncated, field: "header extension", offset: offset) }
      self.headerExtension = Extension(profile: profile, data: data)
    }
  }

  /// Appends the header to a buffer.
  public func serialize(into buffer: inout ByteBuffer) {
    self.serialize(into: &buffer, hasPadding: false)
  }

  func serialize(into buffer: inout ByteBuffer, hasPadding: Bool) {
    precondition(self.contributingSources.count <= 15, "the count has 4 bits")
    var flags = Self.version << 6 | UInt8(self.contributingSources.count)
    if hasPadding { flags |= 0b0010_0000 }
    if self.headerExtension != nil { flags |= 0b0001_0000 }
    buffer.writeMultipleIntegers(
      flags, (self.marker ? 0b1000_0000 : 0) | self.payloadType & 0b0111_1111, self.sequenceNumber, self.timestamp,
      self.ssrc)
    for source in self.contributingSources { buffer.writeInteger(source) }
    if let headerExtension = self.headerExtension {
      let words = headerExtension.data.readableBytes / 4
      precondition(words * 4 == headerExtension.data.readableBytes && words <= 0xFFFF, "whole 32-bit words")
      buffer.writeMultipleIntegers(headerExtension.profile, UInt16(words))
      buffer.writeImmutableBuffer(headerExtension.data)
    }
  }
}
