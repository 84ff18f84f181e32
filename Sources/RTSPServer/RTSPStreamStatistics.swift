internal import Delivery
public import Media
internal import Synchronization

/// Counters of a stream over RTSP: viewers, bytes and drops since its publication.
public struct RTSPStreamStatistics: Hashable, Sendable {
  /// Viewers that play, or wait for their first keyframe.
  public var viewers = 0
  /// Bytes of RTP passed to the system for all viewers, with interleaved framing.
  public var bytesSent = 0
  /// Frames not sent to viewers that read too slowly, or because an event loop was too slow; one for each frame and viewer.
  public var framesSkipped = 0
  /// Viewers closed because they read nothing for ``RTSPServerSettings/stallTimeout``.
  public var viewersClosedAsSlow = 0
  /// Datagrams dropped because the network could not carry them within a second, or the destination cannot be reached.
  public var datagramsDropped = 0
  /// Maximum time that packets have waited for an event loop, in the last 10 to 20 s. More than a frame interval means that
  /// the machine cannot keep up with its viewers.
  public var loopLag = MediaDuration.zero
  /// Length of the send buffer that the system has granted for UDP, in bytes of its own accounting; nil without UDP. Linux
  /// grants twice `net.core.wmem_max`, at most 8 MiB.
  public var udpSendBufferLength: Int?

  /// Adds the counters of another rendition of the stream.
  mutating func add(_ other: RTSPStreamStatistics) {
    self.viewers += other.viewers
    self.bytesSent += other.bytesSent
    self.framesSkipped += other.framesSkipped
    self.viewersClosedAsSlow += other.viewersClosedAsSlow
    self.datagramsDropped += other.datagramsDropped
    self.loopLag = max(self.loopLag, other.loopLag)
  }
}

extension ViewerCounters {
  /// A snapshot of the counters.
  var statistics: RTSPStreamStatistics {
    RTSPStreamStatistics(
      viewers: self.viewers.load(ordering: .relaxed),
      bytesSent: self.bytesSent.load(ordering: .relaxed),
      framesSkipped: self.framesSkipped.load(ordering: .relaxed),
      viewersClosedAsSlow: self.viewersClosedAsSlow.load(ordering: .relaxed),
      datagramsDropped: self.datagramsDropped.load(ordering: .relaxed))
  }
}
