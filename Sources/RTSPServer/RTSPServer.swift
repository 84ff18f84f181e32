public import Authentication
package import Connections
internal import Delivery
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
    var listeners = TCPListener.Listeners()
    var reporting: RepeatedTask?
  }

  private let settings: RTSPServerSettings
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let registry: ConnectionRegistry
  let directory: StreamDirectory
  /// Measures the event loops, which other protocols may share.
  private let lagMeter: LoopLagMeter
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
    let eventLoops = Array(group.makeIterator())
    self.directory = StreamDirectory(eventLoops: eventLoops, refusals: registry.refusals)
    self.lagMeter = LoopLagMeter(eventLoops: eventLoops)
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
  ///
  /// The lag is that of all event loops, also where they serve no viewer of the stream.
  public func statistics(of stream: LiveStream) -> RTSPStreamStatistics {
    guard var statistics = self.directory.broadcaster(of: stream.main)?.statistics else {
      return RTSPStreamStatistics()
    }
    for rendition in stream.renditions { statistics.add(self.statistics(of: rendition)) }
    statistics.delivery.loopLag = max(statistics.delivery.loopLag, self.lagMeter.maximum)
    statistics.udpSendBufferLength = self.directory.sockets?.sendBufferLength
    return statistics
  }

  /// Counters of a rendition's viewers over RTSP; all zero before its first viewer.
  public func statistics(of rendition: Rendition) -> RTSPStreamStatistics {
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
    let tls = try self.settings.tls.map { tls throws(VidiconError) in
      (port: tls.port, context: try TLSCertificate(tls.certificate).makeContext())
    }
    if self.settings.offersUDP {
      self.directory.sockets = try await DatagramSockets.open(
        address: TCPListener.boundAddress(self.settings.address), group: self.group)
    }
    let opener = TCPListener(
      group: self.group, registry: self.registry, address: self.settings.address,
      waterMark: RTSPConnectionHandler.waterMark, options: "--rtsp-port or --rtsps-port", unprivilegedPort: 8554)
    let (directory, settings, passwords) = (self.directory, self.settings, self.passwords)
    let plainSession = self.sessionConfiguration(isSecure: false)
    let secureSession = self.sessionConfiguration(isSecure: true)
    let listeners = try await opener.listen(on: settings.port, tls: tls) { channel, registration, isEncrypted in
      try channel.pipeline.syncOperations.addHandler(
        RTSPConnectionHandler(
          settings: settings, session: isEncrypted ? secureSession : plainSession, directory: directory,
          passwords: passwords, eventLoop: channel.eventLoop, registration: registration, isEncrypted: isEncrypted))
    }
    self.lagMeter.start()
    let reporting = self.directory.scheduleReports(on: self.group.next())
    self.state.withLock { state in
      state.ports = Ports(
        rtsp: listeners.plain?.localAddress?.port ?? settings.port, rtsps: listeners.secure?.localAddress?.port)
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
    self.lagMeter.stop()
    await listeners.close()
    await self.directory.closeConnections()
    await self.directory.sockets?.close()
    // Shutdown fails only when called twice or on one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
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
