public import Media
public import NIOCore

/// The RTCP packets of one datagram or interleaved frame, RFC 3550 §6.1: a report first, then any packets.
public struct RTCPCompoundPacket: Hashable, Sendable {
  /// The packets, the first of which is a sender or receiver report.
  public var packets: [RTCPPacket]

  /// A compound packet; the first packet should be a report.
  public init(_ packets: [RTCPPacket]) {
    self.packets = packets
  }

  /// Parses a datagram with the checks of RFC 3550 A.2: version 2 throughout, a report first, padding on the last
  /// packet only, and lengths that add up. Of a single packet of reduced size, the last is the first.
  ///
  /// - Parameter allowsReducedSize: Whether any packet may be the first, RFC 5506, as WebRTC negotiates by `a=rtcp-rsize`. Browsers
  ///   fill the last word of transport-wide feedback with 1 to 3 bytes of padding, in spite of RFC 3550 §6.4.1: these are removed
  ///   too, also where that packet is the only one.
  /// - Throws: `ParsingError` when a check fails, or a packet's counts exceed its length.
  public init(parsing datagram: ByteBuffer, allowsReducedSize: Bool = false) throws(ParsingError) {
    var rest = datagram
    self.packets = []
    repeat {
      let offset = rest.readerIndex - datagram.readerIndex
      guard
        let (flags, type, words) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
        var body = rest.readSlice(length: Int(words) * 4)
      else { throw ParsingError(.truncated, field: "RTCP length", offset: offset) }
      guard flags >> 6 == RTPHeader.version else { throw ParsingError(.invalid, field: "V", offset: offset) }
      if self.packets.isEmpty, !allowsReducedSize {
        guard type == RTCPPacket.senderReportType || type == RTCPPacket.receiverReportType else {
          throw ParsingError(.invalid, field: "PT", offset: offset + 1)
        }
      }
      if flags & 0b0010_0000 != 0 {
        guard !self.packets.isEmpty || allowsReducedSize, rest.readableBytes == 0 else {
          throw ParsingError(.invalid, field: "P", offset: offset)
        }
        let isTransportWide =
          type == RTCPFeedback.transportType && flags & 0b0001_1111 == RTCPFeedback.transportWideFormat
        try Self.removePadding(
          from: &body, unit: allowsReducedSize && isTransportWide ? 1 : 4, offset: offset)
      }
      do {
        self.packets.append(try RTCPPacket(type: type, count: flags & 0b0001_1111, parsing: body))
      } catch {
        throw ParsingError(error.code, field: error.field, offset: offset)
      }
    } while rest.readableBytes > 0
  }

  /// Appends the packets to a buffer.
  public func serialize(into buffer: inout ByteBuffer) {
    for packet in self.packets { packet.serialize(into: &buffer) }
  }

  /// Removes padding: the last byte is its length, a multiple of 4 with the byte itself, RFC 3550 §6.4.1.
  ///
  /// - Parameter unit: Number whose multiples are allowed, in bytes.
  private static func removePadding(from body: inout ByteBuffer, unit: UInt8, offset: Int) throws(ParsingError) {
    guard
      let length = body.getInteger(at: body.writerIndex - 1, as: UInt8.self), length > 0, length % unit == 0,
      Int(length) <= body.readableBytes
    else { throw ParsingError(.invalid, field: "padding", offset: offset) }
    body.moveWriterIndex(to: body.writerIndex - Int(length))
  }
}
