public import Media

/// Times and window sizes of the sessions of a server.
public struct RTMPServerConfiguration: Hashable, Sendable {
  /// Time after which a connection that neither plays nor publishes is closed, whatever it sends; 10 s by default.
  public var setupTimeout = MediaDuration.seconds(10)
  /// Time without a complete message after which a publisher is closed; 30 s by default.
  public var publishTimeout = MediaDuration.seconds(30)
  /// Time after which a connection whose player has paused is closed; 60 s by default.
  public var pauseTimeout = MediaDuration.seconds(60)
  /// Number of bytes after which an acknowledgement is expected of the peer; announced to the peer, and not enforced.
  public var acknowledgementWindow: UInt32 = 2_500_000

  /// A configuration with default times.
  public init() {}
}
