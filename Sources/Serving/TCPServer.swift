package import Authentication
package import Media
package import NIOCore
package import NIOPosix
internal import NIOSSL
internal import Synchronization

/// The TCP ports of a server whose connections are each a ``MediaConnection``: one in plain TCP, one over TLS, or both.
///
/// `RTSPServer` and `RTMPServer` have one each:
///
/// ```swift
/// let tcp = TCPServer(.init(name: "Toy", port: 4000, unprivilegedPort: 4000), environment, connections: outputs.connections)
/// try await tcp.start(certificate: nil) { ToyConnection(outputs, $0) }
/// ```
package final class TCPServer: Sendable {
  /// The TCP ports in use; chosen by the system where the settings have 0.
  package struct Ports: Hashable, Sendable {
    /// Port of plain TCP; nil without it.
    package var plain: Int?
    /// Port of TLS; nil without it.
    package var secure: Int?
  }

  /// The name and the ports of a protocol.
  package struct Settings: Sendable {
    /// Name of the protocol, such as "RTMP", for errors: its ports are the options `--rtmp-port` and `--rtmps-port`.
    var name: String
    /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses.
    var address: String?
    /// Port of plain TCP, 0 for any free one; nil for none.
    var port: Int?
    /// Ports of plain TCP in place of one that is in use.
    var alternativePorts: [Int]
    /// Port and certificate of TLS; nil for none.
    var tls: TLSSettings?
    /// A usual port of the protocol, from 1024 on, for errors.
    var unprivilegedPort: Int
    /// Time limits of a slow viewer.
    var viewerLimits: ViewerState.Limits

    /// Creates settings of a protocol's ports.
    package init(
      name: String, address: String? = nil, port: Int?, alternativePorts: [Int] = [], tls: TLSSettings? = nil,
      unprivilegedPort: Int, viewerLimits: ViewerState.Limits = .init()
    ) {
      self.name = name
      self.address = address
      self.port = port
      self.alternativePorts = alternativePorts
      self.tls = tls
      self.unprivilegedPort = unprivilegedPort
      self.viewerLimits = viewerLimits
    }
  }

  private struct State {
    var ports: Ports?
    var listeners = TCPListener.Listeners()
  }

  private let settings: Settings
  private let environment: ServerEnvironment
  private let connections: MediaConnections
  private let state = Mutex(State())

  /// A server that listens after ``start(certificate:_:)``.
  ///
  /// - Parameter connections: The connections of this server.
  package init(_ settings: Settings, _ environment: ServerEnvironment, connections: MediaConnections) {
    self.settings = settings
    self.environment = environment
    self.connections = connections
  }

  /// The ports in use; nil while the server does not listen.
  package var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Parameters:
  ///   - certificate: The certificate of TLS where the settings name none.
  ///   - makeConnection: Makes the handler of each connection, on its event loop.
  /// - Throws: `VidiconError`: `.portInUse`, `.notPermitted` or `.notFound` (the address) when a port cannot be bound,
  ///   `.invalidSpecification` for a malformed address and for TLS without a certificate, `.invalidData` for unusable TLS files.
  package func start(
    certificate: TLSCertificate?,
    _ makeConnection: @escaping @Sendable (MediaConnection.Environment) -> MediaConnection
  ) async throws(VidiconError) {
    guard self.ports == nil else { return }
    let name = self.settings.name.lowercased()
    let opener = TCPListener(
      group: self.environment.group, registry: self.environment.registry, address: self.settings.address,
      waterMark: MediaConnection.waterMark, options: "--\(name)-port or --\(name)s-port",
      unprivilegedPort: self.settings.unprivilegedPort, sockets: self.environment.sockets,
      roles: TCPListener.Roles(
        plain: ListeningSockets.Role(rawValue: name), secure: ListeningSockets.Role(rawValue: "\(name)s")))
    let tls = try self.settings.tls.map { tls throws(VidiconError) in
      (port: tls.port, context: try self.certificate(of: tls, default: certificate).makeContext())
    }
    let (server, connections, viewerLimits) = (self.environment, self.connections, self.settings.viewerLimits)
    connections.open()
    let listeners = try await opener.listen(
      on: self.settings.port, alternatives: self.settings.alternativePorts, tls: tls
    ) { channel, registration, isEncrypted in
      let environment = MediaConnection.Environment(
        access: server.access, passwords: server.passwords, connections: connections, eventLoop: channel.eventLoop,
        viewerLimits: viewerLimits, registration: registration, isEncrypted: isEncrypted, protocolName: name)
      try channel.pipeline.syncOperations.addHandler(makeConnection(environment))
    }
    let ports = Ports(plain: listeners.plain?.localAddress?.port, secure: listeners.secure?.localAddress?.port)
    self.state.withLock { $0 = State(ports: ports, listeners: listeners) }
  }

  private func certificate(
    of tls: TLSSettings, default certificate: TLSCertificate?
  ) throws(VidiconError) -> TLSCertificate {
    if let files = tls.certificate, files != certificate?.files {
      return try TLSCertificate(files, report: self.environment.report)
    }
    guard let certificate else {
      throw VidiconError(
        .invalidSpecification, subject: "\(self.settings.name) over TLS", cause: "it has no certificate",
        nextStep: "give a certificate and its key, or use HTTP over TLS, whose certificate it takes")
    }
    return certificate
  }

  /// Stops accepting connections: further ones wait in the system's queue, for another process that has a descriptor of the port.
  package func pause() async {
    await self.state.withLock { $0.listeners }.pause()
  }

  /// Closes the ports and every connection; clients of protocols that can are asked to connect again.
  package func stop() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    await listeners.close()
    await self.connections.close()
  }
}

/// Services that servers over TCP share.
package struct ServerEnvironment: Sendable {
  /// Users, tokens and rules.
  package let access: AccessControl
  /// Compares passwords with scrypt hashes.
  package let passwords: PasswordChecker
  /// Event loops, shut down by the owner of the servers.
  package let group: MultiThreadedEventLoopGroup
  /// The connections of the process.
  package let registry: ConnectionRegistry
  /// Receives a line when changed files of a certificate are read again, on any thread.
  package let report: @Sendable (String) -> Void
  /// Listening sockets in place of ones that are opened.
  package let sockets: ListeningSockets
  /// The event loops of the group.
  package var eventLoops: [any EventLoop] { Array(self.group.makeIterator()) }

  /// Creates the environment of one or more servers.
  package init(
    access: AccessControl, passwords: PasswordChecker, group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry,
    report: @escaping @Sendable (String) -> Void = { _ in }, sockets: ListeningSockets = ListeningSockets()
  ) {
    self.access = access
    self.passwords = passwords
    self.group = group
    self.registry = registry
    self.report = report
    self.sockets = sockets
  }
}

/// Settings of a protocol over TLS: RTSP by the scheme "rtsps", RTMP by "rtmps".
public struct TLSSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one.
  public var port: Int
  /// The certificate; nil for that of HTTP over TLS, which may be one of a local authority.
  public var certificate: CertificateFiles?

  /// Creates settings of a port and a certificate.
  public init(port: Int, certificate: CertificateFiles? = nil) {
    self.port = port
    self.certificate = certificate
  }
}
