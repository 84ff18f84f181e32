internal import Delivery
public import Media
internal import Synchronization

/// Counters of a stream over WebRTC: viewers, bytes and drops since its publication.
public struct WebRTCStreamStatistics: Hashable, Sendable {
  /// Viewers whose connection is made.
  public var viewers = 0
  /// Bytes of datagrams sent to all viewers.
  public var bytesSent = 0
  /// Frames not sent to viewers, because their network or the event loop was too slow; one for each frame and viewer.
  public var framesSkipped = 0
  /// Packets sent again, since viewers had lost them.
  public var packetsRetransmitted = 0
  /// Keyframes that viewers asked for, those that counted for nothing included.
  public var keyframesRequested = 0
  /// Sessions that ended before media could flow.
  public var sessionsFailed = 0
  /// Maximum time that packets have waited for the event loop, in the last 10 to 20 s.
  public var loopLag = MediaDuration.zero

  /// Counters that are all zero.
  public init() {}

  init(_ counters: ViewerCounters, loopLag: MediaDuration) {
    self.viewers = counters.viewers.load(ordering: .relaxed)
    self.bytesSent = counters.bytesSent.load(ordering: .relaxed)
    self.framesSkipped = counters.framesSkipped.load(ordering: .relaxed)
    self.loopLag = loopLag
  }

  /// Adds the counters of another rendition of the stream.
  mutating func add(_ other: WebRTCStreamStatistics) {
    self.viewers += other.viewers
    self.bytesSent += other.bytesSent
    self.framesSkipped += other.framesSkipped
    self.packetsRetransmitted += other.packetsRetransmitted
    self.keyframesRequested += other.keyframesRequested
    self.sessionsFailed += other.sessionsFailed
    self.loopLag = max(self.loopLag, other.loopLag)
  }
}
