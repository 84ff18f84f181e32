public import Media
public import NIOCore

/// An RTP packet, RFC 3550 §5.
public struct RTPPacket: Hashable, Sendable {
  /// The fixed header and its optional parts, RFC 3550 §5.1.
  public var header: RTPHeader
  /// The payload without padding; a slice of the parsed datagram.
  public var payload: ByteBuffer
  /// Length of the padding behind the payload in bytes, its length byte included; 0 to 255.
  public var paddingLength: UInt8

  /// A packet without padding: ``paddingLength`` is 0.
  public init(header: RTPHeader, payload: ByteBuffer) {
    self.header = header
    self.payload = payload
    self.paddingLength = 0
  }

  /// Parses a datagram or an interleaved frame; all readable bytes belong to the packet.
  ///
  /// - Throws: `ParsingError` when the version is not 2, or lengths inside reach past the end (the checks of
  ///   RFC 3550 A.1 that need no state).
  public init(parsing datagram: ByteBuffer) throws(ParsingError) {
    var rest = datagram
    var hasPadding = false
    self.header = try RTPHeader(parsing: &rest, hasPadding: &hasPadding)
    self.paddingLength = 0
    if hasPadding {
      let last = datagram.writerIndex - 1
      guard
        let length = rest.getInteger(at: last, as: UInt8.self), length > 0, Int(length) <= rest.readableBytes,
        let payload = rest.readSlice(length: rest.readableBytes - Int(length))
      else { throw ParsingError(.invalid, field: "padding", offset: last - datagram.readerIndex) }
      self.paddingLength = length
      self.payload = payload
    } else {
      self.payload = rest
    }
  }

  /// Appends the packet to a buffer.
  public func serialize(into buffer: inout ByteBuffer) {
    self.header.serialize(into: &buffer, hasPadding: self.paddingLength > 0)
    buffer.writeImmutableBuffer(self.payload)
    if self.paddingLength > 0 {
      buffer.writeRepeatingByte(0, count: Int(self.paddingLength) - 1)
      buffer.writeInteger(self.paddingLength)
    }
  }
}

/// Bounds of the length of RTP payloads, in bytes.
public enum RTPPayloadSize {
  /// The largest payload whose packet fits an Ethernet frame over IPv6:
  /// `1500 - 40 (IPv6) - 8 (UDP) - 12 (RTP) = 1440` bytes.
  ///
  /// IPv4 would allow 20 bytes more; the packets are built once for both.
  public static let `default` = 1500 - 40 - 8 - RTPHeader.fixedLength

  /// The largest payload whose packet's length fits the 16 bits of interleaved framing (RFC 2326 §10.12) and a
  /// datagram over IPv4: `65,535 - 20 - 8 - 12` bytes.
  public static let maximum = 65_535 - 20 - 8 - RTPHeader.fixedLength

  /// Minimum accepted by packetizers: below it the headers are longer than the payload.
  public static let minimum = 64
}
