internal import Delivery
public import Media
internal import Synchronization

/// Counters of a stream over RTMP: viewers, bytes and drops since its publication.
public struct RTMPStreamStatistics: Hashable, Sendable {
  /// Viewers that play, or wait for their first keyframe.
  public var viewers = 0
  /// Bytes of audio, video and metadata passed to the system for all viewers, with chunk headers.
  public var bytesSent = 0
  /// Frames not sent to viewers that read too slowly, or because an event loop was too slow; one for each frame and viewer.
  public var framesSkipped = 0
  /// Viewers closed because they read nothing for ``RTMPServerSettings/stallTimeout``.
  public var viewersClosedAsSlow = 0
  /// Maximum time that messages have waited for an event loop, in the last 10 to 20 s.
  public var loopLag = MediaDuration.zero

  /// Counters that are all zero.
  public init() {}

  init(_ counters: ViewerCounters, loopLag: MediaDuration) {
    self.viewers = counters.viewers.load(ordering: .relaxed)
    self.bytesSent = counters.bytesSent.load(ordering: .relaxed)
    self.framesSkipped = counters.framesSkipped.load(ordering: .relaxed)
    self.viewersClosedAsSlow = counters.viewersClosedAsSlow.load(ordering: .relaxed)
    self.loopLag = loopLag
  }

  /// Adds the counters of another rendition of the stream.
  mutating func add(_ other: RTMPStreamStatistics) {
    self.viewers += other.viewers
    self.bytesSent += other.bytesSent
    self.framesSkipped += other.framesSkipped
    self.viewersClosedAsSlow += other.viewersClosedAsSlow
    self.loopLag = max(self.loopLag, other.loopLag)
  }
}
