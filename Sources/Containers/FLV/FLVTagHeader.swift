public import Media
public import NIOCore

/// The header of a tag in an FLV file and in an aggregate message of RTMP, FLV 10.1 Annex E.4.1.
///
/// | bits   | field |
/// |--------|-------|
/// | 2 + 1  | reserved, Filter (encrypted) |
/// | 5      | TagType: 8 audio, 9 video, 18 script data |
/// | 24     | DataSize |
/// | 24 + 8 | Timestamp in milliseconds: the lower 24 bits, then the upper 8 |
/// | 24     | StreamID: 0 |
///
/// DataSize bytes and the length of both in 32 bits (PreviousTagSize) follow.
public struct FLVTagHeader: Hashable, Sendable {
  /// Type of the tag: 8 audio, 9 video, 18 script data.
  public var type: UInt8
  /// Length of the body, in bytes, 0 to 2²⁴ - 1.
  public var bodyLength: Int
  /// Decoding time in milliseconds; wraps after 49.7 days.
  public var timestamp: UInt32

  /// Length of a header, in bytes.
  public static let length = 11

  /// Creates a header; the body has at most 2²⁴ - 1 bytes.
  public init(type: UInt8, bodyLength: Int, timestamp: UInt32) {
    self.type = type
    self.bodyLength = bodyLength
    self.timestamp = timestamp
  }

  /// Parses and consumes a header.
  ///
  /// - Throws: `.truncated`; `.unsupported` for an encrypted tag.
  public init(parsing bytes: inout ByteBuffer) throws(ParsingError) {
    guard bytes.readableBytes >= Self.length,
      let (type, sizeHigh, sizeLow) = bytes.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
      let (timeHigh, timeLow, timeExtended) = bytes.readMultipleIntegers(as: (UInt8, UInt16, UInt8).self),
      bytes.readSlice(length: 3) != nil
    else { throw ParsingError(.truncated, field: "FLV tag header", offset: 0) }
    guard type & 0b0010_0000 == 0 else { throw ParsingError(.unsupported, field: "Filter", offset: 0) }
    self.type = type & 0b0001_1111
    self.bodyLength = Int(sizeHigh) << 16 | Int(sizeLow)
    self.timestamp = UInt32(timeExtended) << 24 | UInt32(timeHigh) << 16 | UInt32(timeLow)
  }

  /// Appends the 11 bytes of the header; the stream ID is 0.
  public func serialize(into buffer: inout ByteBuffer) {
    buffer.writeMultipleIntegers(
      self.type & 0b0001_1111, UInt8(truncatingIfNeeded: self.bodyLength >> 16),
      UInt16(truncatingIfNeeded: self.bodyLength), UInt8(truncatingIfNeeded: self.timestamp >> 16),
      UInt16(truncatingIfNeeded: self.timestamp), UInt8(truncatingIfNeeded: self.timestamp >> 24), UInt8(0), UInt16(0))
  }
}
