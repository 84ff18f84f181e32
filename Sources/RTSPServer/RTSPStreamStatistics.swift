/// What the viewers of one stream got over RTSP.
public struct RTSPStreamStatistics: Hashable, Sendable {
  /// Viewers that play now, or are about to.
  public var viewers = 0
  /// Bytes of RTP and RTCP handed to the system for them, with interleaved framing.
  public var bytesSent = 0
  /// Pictures that were not sent to viewers that read too slowly.
  public var picturesSkipped = 0
  /// Viewers closed because they took nothing for too long.
  public var viewersClosedAsSlow = 0
  /// Datagrams that the system had no room for.
  public var datagramsDropped = 0
}
