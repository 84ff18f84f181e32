package import Authentication
package import Connections
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
    var listeners: [any Channel] = []
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
  public func statistics(of stream: LiveStream) -> RTMPStreamStatistics {
    guard var statistics = self.directory.broadcaster(of: stream)?.statistics else { return RTMPStreamStatistics() }
    for rendition in stream.renditions { statistics.add(self.statistics(of: rendition)) }
    return statistics
  }

  /// Counters of a rendition's viewers over RTMP; all zero before its first viewer.
  public func statistics(of rendition: StreamRendition) -> RTMPStreamStatistics {
    self.directory.broadcaster(of: rendition)?.statistics ?? RTMPStreamStatistics()
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
    let context = try self.settings.tls.map { tls throws(VidiconError) -> NIOSSLContext in
      if let files = tls.certificate {
        return try TLSCertificate(chainFile: files.chainFile, keyFile: files.keyFile).makeContext(file: files.chainFile)
      }
      guard let certificate else {
        throw VidiconError(
          .invalidSpecification, subject: "RTMP over TLS", cause: "it has no certificate",
          nextStep: "give a certificate and its key, or use HTTP over TLS, whose certificate it takes")
      }
      return try certificate.makeContext(file: "the certificate")
    }
    var (listeners, ports) = ([any Channel](), Ports())
    do throws(VidiconError) {
      if let port = self.settings.port {
        let listener = try await self.listen(on: port, opener, context: nil)
        ports.rtmp = listener.localAddress?.port
        listeners.append(listener)
      }
      if let tls = self.settings.tls {
        let listener = try await self.listen(on: tls.port, opener, context: context)
        ports.rtmps = listener.localAddress?.port
        listeners.append(listener)
      }
    } catch {
      // An error means that the listener is closed already.
      for listener in listeners { try? await listener.close() }
      throw error
    }
    self.state.withLock { $0 = State(ports: ports, listeners: listeners) }
  }

  private func listen(
    on port: Int, _ opener: TCPListener, context: NIOSSLContext?
  ) async throws(VidiconError) -> any Channel {
    let (directory, settings, access, passwords) = (self.directory, self.settings, self.access, self.passwords)
    return try await opener.listen(on: port, context: context) { channel, registration in
      try channel.pipeline.syncOperations.addHandler(
        RTMPConnectionHandler(
          settings: settings, access: access, passwords: passwords, directory: directory, eventLoop: channel.eventLoop,
          registration: registration, isEncrypted: context != nil))
    }
  }

  /// Closes the ports and every connection; clients that are able to are asked to connect again.
  public func stop() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    for listener in listeners {
      // An error means that the listener is closed already.
      try? await listener.close()
    }
    await self.directory.closeConnections()
  }
}
