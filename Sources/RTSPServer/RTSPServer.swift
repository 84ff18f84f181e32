public import Authentication
package import Connections
public import Media
internal import NIOCore
package import NIOPosix
internal import NIOSSL
internal import RTSP
public import Streaming
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// An RTSP server, RFC 2326, for any number of streams and viewers.
///
/// Each viewer is one connection on an event loop. Samples are packetized once for all viewers on the stream's threads, and
/// cost one write per viewer.
public final class RTSPServer: Sendable {
  /// The TCP ports on which the server listens; chosen by the system where the settings have 0.
  public struct Ports: Hashable, Sendable {
    /// Port of RTSP in plain TCP.
    public var rtsp: Int
    /// The port of RTSP over TLS; nil without TLS.
    public var rtsps: Int?
  }

  private struct State {
    var ports: Ports?
    var listeners: [any Channel] = []
    var reporting: RepeatedTask?
  }

  private let settings: RTSPServerSettings
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let registry: ConnectionRegistry
  let directory: StreamDirectory
  private let state = Mutex(State())
  private let accessControl: AccessControl
  private let passwords: PasswordChecker

  /// One event loop per core, at most four: the encoders need the other cores.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// A server with event loops of its own, which listens after ``start()``.
  ///
  /// - Parameter access: Users, tokens and rules; nil to let every client watch.
  public convenience init(settings: RTSPServerSettings, access: AccessControl? = nil) {
    let access = access ?? AccessControl(settings: AccessSettings(), makeRandom: { .random(in: 0...UInt64.max) })
    self.init(
      settings: settings, access: access, passwords: PasswordChecker(access: access), group: nil,
      registry: ConnectionRegistry(refusals: access.refusals))
  }

  /// A server that listens after ``start()``.
  ///
  /// - Parameters:
  ///   - access: Users, tokens and rules, shared with other protocols.
  ///   - passwords: Compares passwords with scrypt hashes for all servers.
  ///   - group: Event loops that are shared with other servers and shut down by the caller; nil for event loops of its own.
  ///   - registry: The connections of all servers of the process.
  package init(
    settings: RTSPServerSettings, access: AccessControl, passwords: PasswordChecker,
    group shared: MultiThreadedEventLoopGroup?, registry: ConnectionRegistry
  ) {
    let group = shared ?? MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    self.settings = settings
    self.accessControl = access
    self.passwords = passwords
    self.ownsGroup = shared == nil
    self.group = group
    self.registry = registry
    self.directory = StreamDirectory(eventLoops: Array(group.makeIterator()), refusals: registry.refusals)
  }

  /// The ports in use; nil while the server does not listen.
  public var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// Number of malformed messages and of packets on unknown channels.
  public var malformedRequests: Int {
    self.directory.malformedRequests.load(ordering: .relaxed)
  }

  /// Publishes a running stream under its name; the first published stream is also found by a URL without a path.
  public func publish(_ stream: LiveStream) {
    self.directory.publish(stream)
  }

  /// Removes a stream; its viewers get RTCP goodbyes when it is stopped.
  public func unpublish(_ stream: LiveStream) {
    self.directory.unpublish(stream)
  }

  /// Counters of a stream's viewers over RTSP, those of its renditions included; all zero when the stream is not published.
  public func statistics(of stream: LiveStream) -> RTSPStreamStatistics {
    guard var statistics = self.directory.broadcaster(of: stream)?.statistics else { return RTSPStreamStatistics() }
    for rendition in stream.renditions { statistics.add(self.statistics(of: rendition)) }
    statistics.udpSendBufferLength = self.directory.sockets?.sendBufferLength
    return statistics
  }

  /// Counters of a rendition's viewers over RTSP; all zero before its first viewer.
  public func statistics(of rendition: StreamRendition) -> RTSPStreamStatistics {
    self.directory.broadcaster(of: rendition)?.statistics ?? RTSPStreamStatistics()
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: `VidiconError`: `.portInUse`, `.notPermitted` or `.notFound` (the address) when a port cannot be bound,
  ///   `.invalidSpecification` for a malformed address or unusable credentials, `.invalidData` for unusable TLS files.
  public func start() async throws(VidiconError) {
    guard self.ports == nil else { return }
    for user in self.accessControl.settings.users where !user.isUsable {
      throw VidiconError(
        .invalidSpecification, subject: "user \"\(user.user)\"",
        cause: "no player can log in with this name and password",
        nextStep: "give a name without a colon and a password that is not empty")
    }
    let context = try self.settings.tls.map { tls throws(VidiconError) in
      try TLSCertificate(chainFile: tls.certificateFile, keyFile: tls.keyFile).makeContext(file: tls.certificateFile)
    }
    if self.settings.offersUDP {
      self.directory.sockets = try await DatagramSockets.open(
        address: TCPListener.boundAddress(self.settings.address), group: self.group)
    }
    let opener = TCPListener(
      group: self.group, registry: self.registry, address: self.settings.address,
      waterMark: RTSPConnectionHandler.waterMark, options: "--rtsp-port or --rtsps-port", unprivilegedPort: 8554)
    let listener = try await self.listen(on: self.settings.port, listener: opener, context: nil)
    var listeners = [listener]
    if let tls = self.settings.tls {
      do throws(VidiconError) {
        listeners.append(try await self.listen(on: tls.port, listener: opener, context: context))
      } catch {
        // An error means that the listener is closed already.
        try? await listener.close()
        throw error
      }
    }
    let ports = listeners.compactMap { $0.localAddress?.port }
    let reporting = self.directory.scheduleReports(on: self.group.next())
    self.state.withLock { state in
      state.ports = Ports(rtsp: ports[0], rtsps: ports.count > 1 ? ports[1] : nil)
      state.listeners = listeners
      state.reporting = reporting
    }
  }

  /// Closes the ports and every connection.
  public func stop() async {
    let (listeners, reporting) = self.state.withLock { state in
      defer { state = State() }
      return (state.listeners, state.reporting)
    }
    reporting?.cancel()
    for listener in listeners {
      // An error means that the listener is closed already.
      try? await listener.close()
    }
    await self.directory.closeConnections()
    await self.directory.sockets?.close()
    // Shutdown fails only when called twice or on one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  private func listen(
    on port: Int, listener: TCPListener, context: NIOSSLContext?
  ) async throws(VidiconError) -> any Channel {
    let (directory, settings, passwords) = (self.directory, self.settings, self.passwords)
    let session = self.sessionConfiguration(isSecure: context != nil)
    return try await listener.listen(on: port, context: context) { channel, registration in
      try channel.pipeline.syncOperations.addHandler(
        RTSPConnectionHandler(
          settings: settings, session: session, directory: directory, passwords: passwords,
          eventLoop: channel.eventLoop, registration: registration, isEncrypted: context != nil))
    }
  }

  /// The configuration of a listener's sessions; UDP is refused on TLS connections, since RTP over UDP is not encrypted.
  private func sessionConfiguration(isSecure: Bool) -> RTSPServerConfiguration {
    let ports = self.directory.sockets.map {
      RTSPTransport.Pair(rtp: UInt16($0.ports.rtp), rtcp: UInt16($0.ports.rtcp))
    }
    return RTSPServerConfiguration(
      serverName: "Vidicon",
      access: self.accessControl,
      udpPorts: isSecure ? nil : ports,
      timeout: self.settings.sessionTimeout)
  }
}
