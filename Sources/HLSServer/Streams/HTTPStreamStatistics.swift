/// Viewers of one stream over HTTP, and bytes sent to them.
public struct HTTPStreamStatistics: Hashable, Sendable {
  /// HLS viewers: distinct pairs of client address and `User-Agent` in the last 10 seconds.
  public var hlsViewers = 0
  /// Motion JPEG responses that are open now, one for each viewer.
  public var motionJPEGViewers = 0
  /// Bytes of playlists, segments and JPEG images sent, without heads.
  public var bytesSent = 0

  /// Creates statistics; zero by default.
  public init(hlsViewers: Int = 0, motionJPEGViewers: Int = 0, bytesSent: Int = 0) {
    self.hlsViewers = hlsViewers
    self.motionJPEGViewers = motionJPEGViewers
    self.bytesSent = bytesSent
  }
}
