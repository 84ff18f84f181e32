package import Authentication
package import NIOCore

extension MediaConnection {
  /// Services of the server that a connection uses, and its own place in them.
  package struct Environment {
    /// Users, tokens and rules.
    package var access: AccessControl
    /// Compares passwords with hashes.
    package var passwords: PasswordChecker
    /// The connections of its server.
    package var connections: MediaConnections
    /// The connection's event loop.
    package var eventLoop: any EventLoop
    /// Time limits of a slow viewer.
    package var viewerLimits: ViewerState.Limits
    /// Entry in the table of all connections; nil in tests.
    package var registration: ConnectionRegistry.Registration?
    /// Whether the connection is encrypted.
    package var isEncrypted: Bool
    /// Name of the protocol in lower case, such as `rtsp`.
    package var protocolName: String

    /// Creates the environment of a connection on an event loop.
    package init(
      access: AccessControl, passwords: PasswordChecker, connections: MediaConnections, eventLoop: any EventLoop,
      viewerLimits: ViewerState.Limits = .init(), registration: ConnectionRegistry.Registration? = nil,
      isEncrypted: Bool = false, protocolName: String = ""
    ) {
      self.access = access
      self.passwords = passwords
      self.connections = connections
      self.eventLoop = eventLoop
      self.viewerLimits = viewerLimits
      self.registration = registration
      self.isEncrypted = isEncrypted
      self.protocolName = protocolName
    }
  }
}
