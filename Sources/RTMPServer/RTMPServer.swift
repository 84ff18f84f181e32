package import Authentication
package import Connections
public import Delivery
public import Media
internal import NIOCore
package import NIOPosix
internal import NIOSSL
public import Streaming
internal import Synchronization

/// An RTMP server for any number of streams and viewers: `rtmp://HOST/NAME`, `rtmp://HOST/live/NAME`.
///
/// Each viewer is one connection on an event loop. Samples are serialized once for all viewers on the stream's threads, and
/// cost one write per viewer.
public final class RTMPServer: Sendable {
  /// The TCP ports on which the server listens; chosen by the system where the settings have 0.
  public struct Ports: Hashable, Sendable {
    /// Port of RTMP in plain TCP; nil without it.
    public var rtmp: Int?
    /// The port of RTMP over TLS; nil without TLS.
    public var rtmps: Int?
  }

  private struct State {
    var ports: Ports?
    var listeners = TCPListener.Listeners()
  }

  private let settings: RTMPServerSettings
  private let access: AccessControl
  private let passwords: PasswordChecker
  private let group: MultiThreadedEventLoopGroup
  private let registry: ConnectionRegistry
  let directory: RTMPStreamDirectory
  private let state = Mutex(State())

  /// A server that listens after ``start()``.
  ///
  /// - Parameters:
  ///   - access: Users, tokens and rules, shared with other protocols.
  ///   - passwords: Compares passwords with scrypt hashes for all servers.
  ///   - group: Event loops, shut down by the caller.
  ///   - registry: The connections of all servers of the process.
  package init(
    settings: RTMPServerSettings, access: AccessControl, passwords: PasswordChecker,
    group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry
  ) {
    self.settings = settings
    self.access = access
    self.passwords = passwords
    self.group = group
    self.registry = registry
    self.directory = RTMPStreamDirectory(eventLoops: Array(group.makeIterator()), refusals: registry.refusals)
  }

  /// The ports in use; nil while the server does not listen.
  public var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// Publishes a running stream under its name; the first published stream is also found by a URL without a path.
  public func publish(_ stream: LiveStream) {
    self.directory.publish(stream)
  }

  /// Removes a stream; its viewers are disconnected when it is stopped.
  public func unpublish(_ stream: LiveStream) {
    self.directory.unpublish(stream)
  }

  /// Counters of a stream's viewers over RTMP, those of its renditions included; all zero when the stream is not published.
  public func statistics(of stream: LiveStream) -> DeliveryStatistics {
    guard var statistics = self.directory.broadcaster(of: stream.main)?.statistics else { return DeliveryStatistics() }
    for rendition in stream.renditions { statistics.add(self.statistics(of: rendition)) }
    return statistics
  }

  /// Counters of a rendition's viewers over RTMP; all zero before its first viewer.
  public func statistics(of rendition: Rendition) -> DeliveryStatistics {
    self.directory.broadcaster(of: rendition)?.statistics ?? DeliveryStatistics()
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: `VidiconError`: `.portInUse`, `.notPermitted` or `.notFound` (the address) when a port cannot be bound,
  ///   `.invalidSpecification` for a malformed address, `.invalidData` for unusable TLS files.
  public func start() async throws(VidiconError) {
    try await self.start(certificate: nil)
  }

  /// Opens the ports, with a certificate for TLS where the settings name none.
  package func start(certificate: TLSCertificate?) async throws(VidiconError) {
    guard self.ports == nil else { return }
    let opener = TCPListener(
      group: self.group, registry: self.registry, address: self.settings.address,
      waterMark: RTMPConnectionHandler.waterMark, options: "--rtmp-port or --rtmps-port", unprivilegedPort: 1935)
    let tls = try self.settings.tls.map { tls throws(VidiconError) in
      (port: tls.port, context: try self.certificate(of: tls, default: certificate).makeContext())
    }
    let (directory, settings, access, passwords) = (self.directory, self.settings, self.access, self.passwords)
    let listeners = try await opener.listen(on: settings.port, tls: tls) { channel, registration, isEncrypted in
      try channel.pipeline.syncOperations.addHandler(
        RTMPConnectionHandler(
          settings: settings, access: access, passwords: passwords, directory: directory, eventLoop: channel.eventLoop,
          registration: registration, isEncrypted: isEncrypted))
    }
    let ports = Ports(rtmp: listeners.plain?.localAddress?.port, rtmps: listeners.secure?.localAddress?.port)
    self.state.withLock { $0 = State(ports: ports, listeners: listeners) }
  }

  private func certificate(
    of tls: RTMPServerSettings.TLS, default certificate: TLSCertificate?
  ) throws(VidiconError) -> TLSCertificate {
    if let files = tls.certificate { return try TLSCertificate(files) }
    guard let certificate else {
      throw VidiconError(
        .invalidSpecification, subject: "RTMP over TLS", cause: "it has no certificate",
        nextStep: "give a certificate and its key, or use HTTP over TLS, whose certificate it takes")
    }
    return certificate
  }

  /// Closes the ports and every connection; clients that are able to are asked to connect again.
  public func stop() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    await listeners.close()
    await self.directory.closeConnections()
  }
}
