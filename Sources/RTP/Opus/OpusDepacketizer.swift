package import Bitstreams
package import Media
package import NIOCore

/// Depacketizes Opus from RTP packets, RFC 7587 §4.2: each payload is one Opus packet.
///
/// Senders with discontinuous transmission (DTX) leave out packets: their timestamps advance, their sequence numbers do not. Lost packets
/// and those left out are not returned: the times of the others say that they are missing. The caller passes the packets of one source and
/// payload type, in order.
package struct OpusDepacketizer: Sendable {
  /// An Opus packet with its time and duration.
  package struct Output: Hashable, Sendable {
    /// Bytes of the Opus packet, the whole RTP payload.
    package var payload: ByteBuffer
    /// The RTP timestamp, in samples at 48 kHz; wraps at 32 bits.
    package var timestamp: UInt32
    /// Table of contents of the packet, from which its duration follows.
    package var header: OpusPacketHeader
  }

  /// Number of packets that were never received, by the gaps in the sequence numbers.
  package private(set) var lostPacketCount: UInt64 = 0
  /// Number of received packets that were not used: late or malformed.
  package private(set) var droppedPacketCount: UInt64 = 0

  private var tracker = SequenceTracker()

  /// A depacketizer before the first packet.
  package init() {}

  /// Returns the Opus packet of an RTP packet; nil for padding, and for a late packet.
  ///
  /// - Throws: `ParsingError` of a malformed packet, which counts as dropped.
  package mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> Output? {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap(let missing): self.lostPacketCount += UInt64(missing)
    case .late:
      self.droppedPacketCount += 1
      return nil
    }
    guard packet.payload.readableBytes > 0 else { return nil }
    let header: OpusPacketHeader
    do throws(ParsingError) {
      header = try OpusPacketHeader(parsing: packet.payload)
    } catch {
      self.droppedPacketCount += 1
      throw error
    }
    return Output(payload: packet.payload, timestamp: packet.header.timestamp, header: header)
  }
}
