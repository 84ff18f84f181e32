public import Media
internal import Synchronization

/// Counters of a stream over one protocol that pushes media to its viewers: RTSP, RTMP or WebRTC.
public struct DeliveryStatistics: Hashable, Sendable {
  /// Viewers that play, or wait for their first keyframe.
  public var viewers: Int
  /// Bytes of media passed to the system for all viewers, with the protocol's framing, since the publication.
  public var bytesSent: Int
  /// Frames not sent to viewers that read too slowly, or because an event loop was too slow; one for each frame and viewer.
  public var framesSkipped: Int
  /// Viewers closed because they read nothing for the server's stall timeout.
  public var viewersClosedAsSlow: Int
  /// Maximum time that media, or a task of each second, have waited for an event loop, in the last 10 to 20 s. More than a
  /// frame interval means that the machine cannot keep up with its viewers.
  public var loopLag: MediaDuration

  /// Creates counters; zero by default.
  public init(
    viewers: Int = 0, bytesSent: Int = 0, framesSkipped: Int = 0, viewersClosedAsSlow: Int = 0,
    loopLag: MediaDuration = .zero
  ) {
    self.viewers = viewers
    self.bytesSent = bytesSent
    self.framesSkipped = framesSkipped
    self.viewersClosedAsSlow = viewersClosedAsSlow
    self.loopLag = loopLag
  }

  /// Adds the counters of another rendition of the stream, and keeps the greater lag.
  package mutating func add(_ other: DeliveryStatistics) {
    self.viewers += other.viewers
    self.bytesSent += other.bytesSent
    self.framesSkipped += other.framesSkipped
    self.viewersClosedAsSlow += other.viewersClosedAsSlow
    self.loopLag = max(self.loopLag, other.loopLag)
  }
}

extension Broadcast {
  /// A snapshot of the viewers' counters and the event loops' lag.
  package var statistics: DeliveryStatistics {
    DeliveryStatistics(
      viewers: self.counters.viewers.load(ordering: .relaxed),
      bytesSent: self.counters.bytesSent.load(ordering: .relaxed),
      framesSkipped: self.counters.framesSkipped.load(ordering: .relaxed),
      viewersClosedAsSlow: self.counters.viewersClosedAsSlow.load(ordering: .relaxed),
      loopLag: self.groups.lazy.map(\.lag).max() ?? .zero)
  }
}
