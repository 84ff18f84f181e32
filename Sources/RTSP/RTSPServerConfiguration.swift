package import Authentication
package import Media

/// Configuration shared by all sessions of a listener.
package struct RTSPServerConfiguration: Sendable {
  /// The value of the `Server` header, RFC 2326 §12.36.
  package var serverName: String
  /// The server's UDP ports; nil to refuse UDP with status 461, after which clients use TCP.
  package var udpPorts: RTSPTransport.Pair<UInt16>?
  /// Time without activity after which a connection with a session is closed; whole seconds.
  package var timeout: MediaDuration
  /// Time after which a connection without a session is closed, whatever it sends: since it was opened, or since its session
  /// was torn down.
  package var setupTimeout: MediaDuration
  /// Maximum time that PLAY waits for ``RTSPServerSession/playingStarted(at:now:)``.
  package var startTimeout: MediaDuration
  /// Users, tokens and rules that every request except OPTIONS is checked against.
  package var access: AccessControl

  /// A configuration with default timeouts of 60 s, 10 s and 10 s.
  package init(
    serverName: String, access: AccessControl, udpPorts: RTSPTransport.Pair<UInt16>? = nil,
    timeout: MediaDuration = .seconds(60), setupTimeout: MediaDuration = .seconds(10),
    startTimeout: MediaDuration = .seconds(10)
  ) {
    self.serverName = serverName
    self.access = access
    self.udpPorts = udpPorts
    self.timeout = timeout
    self.setupTimeout = setupTimeout
    self.startTimeout = startTimeout
  }
}
