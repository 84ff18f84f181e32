public import Media

/// Times and window sizes of the sessions of a server.
public struct RTMPServerConfiguration: Hashable, Sendable {
  /// Time after which a connection that neither plays nor publishes is closed, whatever it sends; 10 s by default.
  public var setupTimeout = MediaDuration.seconds(10)
  /// Time without a complete message after which a publisher is closed; 330 s by default. A still screen may have a frame now and
  /// then: what notices a peer that is gone is the connection, and the silence of a peer that is there is judged by its rhythm, up to
  /// 300 s. It is not asked for a sign of life: FFmpeg reads pings only when it has sent a frame, and OBS Studio never.
  public var publishTimeout = MediaDuration.seconds(330)
  /// Time after which a connection whose player has paused is closed; 60 s by default.
  public var pauseTimeout = MediaDuration.seconds(60)
  /// Number of bytes after which an acknowledgement is expected of the peer; announced to the peer, and not enforced.
  public var acknowledgementWindow: UInt32 = 2_500_000

  /// A configuration with default times.
  public init() {}
}
