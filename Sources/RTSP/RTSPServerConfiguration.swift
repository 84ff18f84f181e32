public import Authentication
public import Media

/// What all sessions of a server have in common.
public struct RTSPServerConfiguration: Sendable {
  /// The value of the `Server` header.
  public var serverName: String
  /// The server's own UDP ports; nil refuses UDP with 461, after which clients take TCP at once.
  public var udpPorts: RTSPTransport.Pair<UInt16>?
  /// How long a connection lives without a sign of life, with a session or without; whole seconds.
  public var timeout: MediaDuration
  /// How long PLAY waits for ``RTSPServerSession/playingStarted(at:now:)``.
  public var startTimeout: MediaDuration
  /// Who may watch.
  public var authenticator: Authenticator

  /// A configuration.
  public init(
    serverName: String, authenticator: Authenticator, udpPorts: RTSPTransport.Pair<UInt16>? = nil,
    timeout: MediaDuration = .seconds(60), startTimeout: MediaDuration = .seconds(10)
  ) {
    self.serverName = serverName
    self.authenticator = authenticator
    self.udpPorts = udpPorts
    self.timeout = timeout
    self.startTimeout = startTimeout
  }
}
