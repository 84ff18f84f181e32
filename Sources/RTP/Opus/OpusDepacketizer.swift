package import Bitstreams
package import Media
package import NIOCore

/// Depacketizes Opus from RTP packets, RFC 7587 §4.2: each payload is one Opus packet.
///
/// Senders with discontinuous transmission (DTX) leave out packets: their timestamps advance, their sequence numbers do not. Such a
/// gap is silence; one of sequence numbers is loss, which a decoder conceals. The caller passes the packets of one source and payload
/// type, in order.
package struct OpusDepacketizer: Sendable {
  /// Reasons why there is no audio before a packet.
  package enum Gap: Hashable, Sendable {
    /// The sender had nothing to send for a number of samples at 48 kHz.
    case silence(sampleCount: Int64)
    /// Packets were lost: a number of samples at 48 kHz.
    case loss(sampleCount: Int64)
  }

  /// An Opus packet with its time and duration.
  package struct Output: Hashable, Sendable {
    /// Bytes of the Opus packet, the whole RTP payload.
    package var payload: ByteBuffer
    /// The RTP timestamp, in samples at 48 kHz; wraps at 32 bits.
    package var timestamp: UInt32
    /// Table of contents of the packet, from which its duration follows.
    package var header: OpusPacketHeader
    /// Missing audio before the packet; nil when it follows the one before.
    package var gap: Gap?
  }

  /// Maximum gap: a larger one, of a minute, is a new timeline.
  package static let maximumGapSampleCount = Int64(OpusPacketHeader.sampleRate) * 60

  /// Number of packets that were never received, by the gaps in the sequence numbers.
  package private(set) var lostPacketCount: UInt64 = 0
  /// Number of received packets that were not used: late or malformed.
  package private(set) var droppedPacketCount: UInt64 = 0

  private var tracker = SequenceTracker()
  /// Timestamp behind the last packet.
  private var nextTimestamp: UInt32?
  /// Whether packets were lost since the last one that was returned.
  private var followsLoss = false

  /// A depacketizer before the first packet.
  package init() {}

  /// Returns the Opus packet of an RTP packet; nil for padding, and for a late packet.
  ///
  /// - Throws: `ParsingError` of a malformed packet, which counts as lost.
  package mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> Output? {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap(let missing):
      self.lostPacketCount += UInt64(missing)
      self.followsLoss = true
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
      self.followsLoss = true
      throw error
    }
    var gap: Gap?
    if let next = self.nextTimestamp {
      let count = Int64(Int32(bitPattern: packet.header.timestamp &- next))
      if (1...Self.maximumGapSampleCount).contains(count) {
        gap = self.followsLoss ? .loss(sampleCount: count) : .silence(sampleCount: count)
      }
    }
    self.followsLoss = false
    self.nextTimestamp = packet.header.timestamp &+ UInt32(header.sampleCount)
    return Output(payload: packet.payload, timestamp: packet.header.timestamp, header: header, gap: gap)
  }
}
