public import Delivery

/// Counters of a stream over WebRTC: viewers, bytes and drops since its publication.
public struct WebRTCStreamStatistics: Hashable, Sendable {
  /// Connected viewers, bytes sent to them, and frames skipped for them.
  public var delivery: DeliveryStatistics
  /// Packets sent again, since viewers had lost them.
  public var packetsRetransmitted: Int
  /// Keyframe requests of viewers, ignored ones included.
  public var keyframesRequested: Int
  /// Number of sessions that ended before media could flow, by reason.
  public var sessionsFailed: [WebRTCSessionFailure: Int]

  /// Counters of each viewer, in the order of their numbers.
  public var viewerList: [WebRTCViewerStatistics] = []

  /// Creates counters; zero by default.
  public init(
    delivery: DeliveryStatistics = DeliveryStatistics(), packetsRetransmitted: Int = 0, keyframesRequested: Int = 0,
    sessionsFailed: [WebRTCSessionFailure: Int] = [:]
  ) {
    self.delivery = delivery
    self.packetsRetransmitted = packetsRetransmitted
    self.keyframesRequested = keyframesRequested
    self.sessionsFailed = sessionsFailed
  }

  /// Adds the counters of another rendition of the stream.
  mutating func add(_ other: WebRTCStreamStatistics) {
    self.delivery.add(other.delivery)
    self.packetsRetransmitted += other.packetsRetransmitted
    self.keyframesRequested += other.keyframesRequested
    self.sessionsFailed.merge(other.sessionsFailed, uniquingKeysWith: +)
    self.viewerList = (self.viewerList + other.viewerList).sorted { $0.number < $1.number }
  }
}
