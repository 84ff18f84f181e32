/// What the viewers of one stream got over HTTP.
public struct HTTPStreamStatistics: Hashable, Sendable {
  /// Those who asked for HLS in the last ten seconds, told apart by address and program.
  public var hlsViewers = 0
  /// Those who watch motion JPEG.
  public var motionJPEGViewers = 0
  /// Bytes of playlists, segments and pictures sent.
  public var bytesSent = 0

  /// Nothing sent.
  public init(hlsViewers: Int = 0, motionJPEGViewers: Int = 0, bytesSent: Int = 0) {
    self.hlsViewers = hlsViewers
    self.motionJPEGViewers = motionJPEGViewers
    self.bytesSent = bytesSent
  }
}
