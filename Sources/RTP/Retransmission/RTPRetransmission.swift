public import Media
internal import NIOCore

/// Retransmission in a stream of its own, RFC 4588 §4: another SSRC and payload type, and the original sequence number (OSN)
/// before the payload.
public struct RTPRetransmission: Hashable, Sendable {
  /// SSRC of the packets that are sent again, RFC 4588 §4.
  public let ssrc: UInt32
  /// Payload type of the retransmissions; its `apt` is that of the originals.
  public let payloadType: UInt8
  /// Sequence number of the next retransmission.
  public private(set) var nextSequenceNumber: UInt16

  /// Length of OSN in bytes.
  public static let overhead = 2

  /// Creates the stream of retransmissions; the first sequence number should be random.
  public init(ssrc: UInt32, payloadType: UInt8, firstSequenceNumber: UInt16) {
    precondition(payloadType < 128, "a payload type has 7 bits")
    self.ssrc = ssrc
    self.payloadType = payloadType
    self.nextSequenceNumber = firstSequenceNumber
  }

  /// The packet that carries a lost one again. Marker, timestamp and header extension are those of the original; its padding is
  /// left out.
  public mutating func packet(for original: RTPPacket) -> RTPPacket {
    var header = original.header
    header.ssrc = self.ssrc
    header.payloadType = self.payloadType
    header.sequenceNumber = self.nextSequenceNumber
    self.nextSequenceNumber &+= 1
    var payload = ByteBufferAllocator().buffer(capacity: Self.overhead + original.payload.readableBytes)
    payload.writeInteger(original.header.sequenceNumber)
    payload.writeImmutableBuffer(original.payload)
    return RTPPacket(header: header, payload: payload)
  }

  /// The packet that a retransmission carries.
  ///
  /// - Parameters:
  ///   - retransmission: A packet of the retransmission stream.
  ///   - ssrc: SSRC of the originals.
  ///   - payloadType: Payload type of the originals: `apt`.
  /// - Throws: `ParsingError` `.truncated` without OSN: such packets are padding that probes the bandwidth.
  public static func original(
    of retransmission: RTPPacket, ssrc: UInt32, payloadType: UInt8
  ) throws(ParsingError) -> RTPPacket {
    var payload = retransmission.payload
    guard let number = payload.readInteger(as: UInt16.self) else { throw ParsingError(.truncated, field: "OSN") }
    var header = retransmission.header
    header.ssrc = ssrc
    header.payloadType = payloadType
    header.sequenceNumber = number
    return RTPPacket(header: header, payload: payload)
  }
}
