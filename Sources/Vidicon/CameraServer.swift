public import Authentication
public import ControlAPI
public import Discovery
internal import HTTPServer
public import Media
internal import NIOCore
internal import NIOPosix
internal import Pushing
internal import RTMPServer
internal import RTSPServer
internal import Recording
package import Serving
public import StreamControl
public import Streaming
internal import Synchronization
internal import Threading
internal import WebRTCServer

/// Serves streams on the network: over RTSP, over RTMP and WebRTC on request, and over HTTP as HLS, motion JPEG, snapshots and a web page.
///
/// A server runs once: after ``stop(finishingRecordingsWithin:)`` it cannot start again.
///
/// ```swift
/// let server = CameraServer(rtspPort: 8554, httpPort: 8080)
/// try await server.serve(stream)
/// try await server.run()  // until cancelled
/// ```
public final class CameraServer: Sendable {
  /// The address that stands for all addresses of the machine.
  private static let anyAddress = "::"

  /// One event loop per core, at most four: further cores serve the encoders.
  private static let eventLoopCount = min(System.coreCount, 4)

  private let settings: CameraServerSettings
  /// The event loops of all protocols.
  private let group: MultiThreadedEventLoopGroup
  /// Users, tokens and rules of access; shared by all protocols.
  public let access: AccessControl
  /// Threads for comparisons with scrypt hashes: few, since each comparison takes 16 MiB.
  private let passwordThreads: NIOThreadPool
  let registry: ConnectionRegistry
  private let memoryReturn: MemoryReturn
  let rtsp: RTSPServer
  let rtmp: RTMPServer?
  let webRTC: WebRTCServer?
  /// The servers of RTSP, RTMP and WebRTC, as far as they are on.
  let servers: [any StreamServer]
  let http: WebServer?
  private let announcer: ServiceAnnouncer?
  private let listening = Listening()
  let streams = StreamRegistry()
  private let catalog: SourceCatalog
  let privacy: SourcePrivacy
  private let pushService: PushService
  private let reload = ProgramAction<String?, Result<ReloadEntry, VidiconError>>()
  private let check = ProgramAction<Void, CheckEntry>()
  private let report: @Sendable (String) -> Void
  private let sockets: ListeningSockets

  /// Creates a server that does not listen yet.
  ///
  /// - Parameters:
  ///   - rtspPort: TCP port for RTSP; 0 for any free one.
  ///   - httpPort: TCP port for HTTP; 0 for any free one.
  public convenience init(rtspPort: Int = 8554, httpPort: Int = 8080) {
    self.init(
      settings: CameraServerSettings(
        rtsp: RTSPServerSettings(port: rtspPort), http: HTTPServerSettings(port: httpPort)))
  }

  /// Creates a server that does not listen yet, with every setting of its protocols.
  ///
  /// - Parameters:
  ///   - settings: Addresses, ports, credentials and TLS of RTSP and HTTP.
  ///   - catalog: The sources that streams can be switched to over HTTP, on the page and in code; a stream with
  ///     ``StreamSources`` of its own, see `attach(_:to:)`, has that catalog.
  ///   - discovery: Receives the name under which each stream is announced, and failures to announce, on a thread of the
  ///     announcer.
  ///   - report: Receives lines for the owner, on any thread: about ports that are in use and replaced by others, about refused
  ///     requests, at most one a minute by address, and about certificates: a renewed one that cannot be stored, and changed files
  ///     that are read again.
  public convenience init(
    settings: CameraServerSettings, catalog: SourceCatalog = .all,
    discovery: @escaping @Sendable (DiscoveryEvent) -> Void = { _ in },
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.init(settings: settings, catalog: catalog, privacy: .shared, discovery: discovery) { event in
      if let text = event.text { report(text) }
    }
  }

  /// Creates a server that does not listen yet, as the public initializer.
  ///
  /// - Parameters:
  ///   - privacy: The streams that may show the same sources; attached sources and effects must have the same.
  ///   - log: Receives events for the owner, on any thread.
  ///   - sockets: Sockets in place of ones that are opened.
  package init(
    settings: CameraServerSettings, catalog: SourceCatalog, privacy: SourcePrivacy,
    discovery: @escaping @Sendable (DiscoveryEvent) -> Void, log: @escaping @Sendable (ServerEvent) -> Void,
    sockets: ListeningSockets = ListeningSockets()
  ) {
    let report: @Sendable (String) -> Void = { log(.line($0)) }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    let access = AccessControl(
      settings: settings.access, machineNames: NetworkAddresses.hostNames,
      makeRandom: { .random(in: 0...UInt64.max) }, isOnOwnLink: { [networks = OwnNetworks()] in networks.contain($0) },
      report: { log(.refused($0)) })
    let registry =
      settings.maximumConnections.map { ConnectionRegistry(maximumCount: $0, refusals: access.refusals, log: log) }
      ?? ConnectionRegistry(refusals: access.refusals, log: log)
    let passwordThreads = NIOThreadPool(numberOfThreads: PasswordCheckQueue.maximumRunning)
    passwordThreads.start()
    let passwords = PasswordChecker(access: access, threads: passwordThreads)
    let environment = ServerEnvironment(
      access: access, passwords: passwords, group: group, registry: registry, report: report,
      sockets: sockets)
    let rtsp = RTSPServer(settings.rtsp, environment)
    let rtmp = settings.rtmp.map { RTMPServer($0, environment) }
    let webRTC = settings.webRTC.flatMap {
      WebRTCServer(settings: $0, group: group, registry: registry, report: report, sockets: sockets)
    }
    let all: [(any StreamServer)?] = [rtsp, rtmp, webRTC]
    let servers = all.compactMap { $0 }
    self.servers = servers
    self.access = access
    self.passwordThreads = passwordThreads
    self.settings = settings
    self.catalog = catalog
    self.privacy = privacy
    self.pushService = PushService(authorityFile: settings.pushAuthorityFile) { destination, connector, report in
      switch destination {
      case .rtmp(let url): connector.rtmpLink(to: url, report: report)
      case .whip(let url, let token): connector.whipLink(to: url, token: token, report: report)
      }
    }
    self.report = report
    self.sockets = sockets
    self.group = group
    self.registry = registry
    self.memoryReturn = MemoryReturn(of: registry)
    self.rtsp = rtsp
    self.rtmp = rtmp
    self.webRTC = webRTC
    self.http = settings.http.map { [listening, streams, reload, check] http in
      WebServer(
        settings: http, access: access, passwords: passwords,
        providers: WebServerProviders(
          servers: servers, webRTC: webRTC, addresses: { listening.addresses(of: $0) },
          controls: { streams.controls(of: $0) },
          reload: { await reload.perform($0) }, check: { await check.perform(()) }, catalog: catalog), group: group,
        registry: registry, report: report, sockets: sockets)
    }
    self.announcer =
      settings.isAnnounced
      ? ServiceAnnouncer(listeningOn: settings.rtsp.address ?? Self.anyAddress, report: discovery) : nil
  }

  /// The ports in use; nil before ``start()``.
  public var ports: CameraServerPorts? {
    self.listening.ports
  }

  /// The addresses of a stream, for users; empty before ``start()``.
  public func addresses(of stream: LiveStream) -> StreamAddresses {
    self.listening.addresses(of: stream)
  }

  /// The SHA-256 fingerprint of the certificate of HTTP over TLS, for users to compare; nil without TLS.
  public var certificateFingerprint: String? {
    self.http?.certificateFingerprint
  }

  /// The SHA-256 fingerprint of the local authority that issued it, which phones can be made to trust; nil without one.
  package var authorityFingerprint: String? {
    self.http?.authorityFingerprint
  }

  /// Waits until every event loop has run what it was given before: not at all where one hangs.
  package func waitForEventLoops() async {
    for eventLoop in self.group.makeIterator() {
      // Fails only where the event loops have ended.
      try? await eventLoop.submit {}.get()
    }
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: ``VidiconError`` when a port is in use or not permitted, or the TLS files cannot be read;
  ///   `invalidSpecification` when the address to listen on is not an IP address, or RTSP or RTMP over TLS has no certificate.
  public func start() async throws(VidiconError) {
    try await self.start(holdingConnections: false)
  }

  /// Opens the ports, as ``start()`` does.
  ///
  /// - Parameter holdingConnections: Whether clients wait until ``serveConnections()`` is called: their streams are served then.
  package func start(holdingConnections: Bool) async throws(VidiconError) {
    guard self.ports == nil else { return }
    if holdingConnections { self.registry.hold() }
    guard self.settings.webRTC?.isRequired != true || self.webRTC != nil else {
      throw VidiconError(
        .failed, subject: "WebRTC", cause: "OpenSSL cannot make a certificate",
        nextStep: "start the server without --webrtc-port")
    }
    try self.pushService.checkAuthorities()
    if self.settings.rtsp.tls != nil { try self.http?.loadCertificate() }
    do throws(VidiconError) {
      try await self.rtsp.start(certificate: self.http?.certificate)
      try await self.http?.start()
      try await self.rtmp?.start(certificate: self.http?.certificate)
      try await self.webRTC?.start()
    } catch {
      // The streams stay registered, for the next attempt.
      for server in self.servers.reversed() { await server.stop() }
      await self.http?.closePorts()
      throw error
    }
    self.sockets.closeUnused()
    self.memoryReturn.start()
    guard let rtsp = self.rtsp.ports?.plain else { return }
    let http = self.http?.ports
    let ports = CameraServerPorts(
      rtsp: rtsp, rtsps: self.rtsp.ports?.secure, http: http?.http, https: http?.https, rtmp: self.rtmp?.ports?.plain,
      rtmps: self.rtmp?.ports?.secure, webRTC: self.webRTC?.udpPort)
    for line in self.settings.replacements(by: ports, except: self.sockets.inheritedRoles) { self.report(line) }
    self.listening.open(
      ports, hosts: NetworkAddresses.hosts(listeningOn: self.settings.rtsp.address ?? Self.anyAddress))
    // Streams that were served earlier had no port to announce.
    for stream in self.streams.served where stream.isRunning { self.announce(stream) }
  }

  /// Sets what reads the program's configuration again when an operator asks for that over HTTP, or applies the text of another one of the
  /// holder of the configuration token; without it there is none.
  package func setReload(_ perform: @escaping @Sendable (_ text: String?) async -> Result<ReloadEntry, VidiconError>) {
    self.reload.set(perform)
  }

  /// Sets what checks this machine for the program's configuration when an operator asks for that over HTTP; without it there is none.
  package func setCheck(_ perform: @escaping @Sendable () async -> CheckEntry) {
    self.check.set { _ in await perform() }
  }

  /// Serves clients that have connected since the ports are open, and all others at once.
  package func serveConnections() { self.registry.release() }

  /// Opens the ports, if they are not open, and serves until the task is cancelled; then ends in order.
  ///
  /// - Throws: ``VidiconError``, as ``start()``.
  public func run() async throws(VidiconError) {
    try await self.start()
    let (ending, continuation) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
      for await _ in ending {}
    } onCancel: {
      continuation.finish()
    }
    await self.stop()
  }

  /// Withdraws the announcements, stops every stream, disconnects every viewer, closes the ports and finishes the
  /// recordings.
  ///
  /// - Parameter limit: Maximum time to wait for the recordings to be finished; nil for no limit. A recording
  ///   that is not finished by then is a fragmented file, which plays, and is finished in the background, or when the
  ///   process ends earlier, by the next recording of its pattern or ``Recordings/repair(_:)``.
  /// - Returns: Whether all recordings are finished.
  @discardableResult
  public func stop(finishingRecordingsWithin limit: Duration? = nil) async -> Bool {
    // Clients that still wait for the streams are left to another process that has descriptors of the ports.
    if self.registry.isHeld { await self.pause() }
    self.registry.release()
    async let recorded = Self.stop(self.streams.recorders, within: limit)
    async let withdrawn: Void? = self.announcer?.stop()
    for stream in self.streams.served { await self.end(stream) }
    await self.pushService.stop()
    await self.http?.stop()
    for server in self.servers.reversed() { await server.stop() }
    self.memoryReturn.stop()
    await withdrawn
    // Fails only when called twice.
    try? await self.passwordThreads.shutdownGracefully()
    // Fails only when called twice, or from one of its own event loops.
    try? await self.group.shutdownGracefully()
    return await recorded
  }

  /// Stops recorders, and waits until they have finished or a time has passed.
  ///
  /// - Returns: Whether they have finished.
  private static func stop(_ recorders: [Recorder], within limit: Duration?) async -> Bool {
    // Finishing a file cannot be cancelled, so it runs in a task of its own.
    let stopping = Task {
      await withDiscardingTaskGroup { group in
        for recorder in recorders { group.addTask { await recorder.stop() } }
      }
    }
    guard let limit else {
      await stopping.value
      return true
    }
    return await stopping.result(within: limit) != nil
  }
}

// MARK: Streams

extension CameraServer {
  /// Starts a stream, unless it runs already, and serves it. The first served stream also plays without a name over
  /// RTSP.
  ///
  /// - Throws: ``VidiconError`` when its name cannot be part of an address or is taken by another stream that has not ended,
  ///   when it is served already, or a source or an encoder cannot be opened.
  public func serve(_ stream: LiveStream) async throws(VidiconError) {
    if let cause = LiveStream.problem(withName: stream.name) {
      throw .streamNameUnusable(stream.name, cause: cause)
    }
    try self.streams.reserve(stream)
    self.streams.updateServed(stream) { entry in
      entry.sources =
        entry.sources ?? StreamSources(stream, video: nil, catalog: self.catalog, privacy: self.privacy)
      entry.effects =
        entry.effects ?? StreamEffects(stream, factory: EffectFactory(), privacy: self.privacy)
    }
    // Before its first frame. Returns at once where no stream has privacy.
    await self.privacy.identifySources()
    self.privacy.cover()
    if !stream.isRunning {
      do throws(VidiconError) {
        try await stream.start()
      } catch {
        self.streams.cancelReservation(of: stream)
        throw error
      }
    }
    // Serving the stream may have ended, or the server stopped, while it started.
    guard self.streams[stream]?.phase == .served else {
      await stream.stop()
      throw .streamStopped
    }
    self.streams.updateServed(stream) { entry in
      entry.pushes = StreamPushes(
        stream, service: self.pushService, allowsLinkLocal: self.catalog.allowsLinkLocal)
    }
    for server in self.servers { server.serve(stream) }
    self.http?.serve(stream)
    self.announce(stream)
    await self.privacy.update()
  }

  /// Stops serving a stream: disconnects its viewers, stops it, and finishes its recording.
  public func stopServing(_ stream: LiveStream) async {
    async let recorded = self.streams[stream]?.recorder?.stop()
    await self.end(stream)
    _ = await recorded
  }

  /// Serves a stream, by the earlier name of ``serve(_:)``.
  @available(*, deprecated, renamed: "serve(_:)")
  public func publish(_ stream: LiveStream) async throws(VidiconError) { try await self.serve(stream) }

  /// Stops serving a stream, by the earlier name of ``stopServing(_:)``.
  @available(*, deprecated, renamed: "stopServing(_:)")
  public func unpublish(_ stream: LiveStream) async { await self.stopServing(stream) }

  /// Stops serving a stream, and stops it, which ends its recording too.
  private func end(_ stream: LiveStream) async {
    for service in self.streams.end(stream) { self.announcer?.withdraw(service) }
    for server in self.servers { server.stopServing(stream) }
    await self.streams[stream]?.pushes?.stop()
    await stream.stop()
    self.http?.stopServing(stream)
    self.streams.remove(stream)
    // Its source is no longer hidden by it.
    await self.privacy.update()
  }

  /// Announces a stream, unless serving it has ended meanwhile.
  private func announce(_ stream: LiveStream) {
    let services = self.services(of: stream)
    self.streams.updateServed(stream) { entry in
      entry.services = services
      for service in services { self.announcer?.announce(service) }
    }
  }

  /// The services of a stream; none before the ports are open, or where its name is too long for DNS-SD.
  private func services(of stream: LiveStream) -> [Service] {
    guard let ports else { return [] }
    return [(Service.Kind.http, ports.http), (.rtsp, ports.rtsp)].compactMap { kind, port in
      guard let port = port.flatMap(UInt16.init(exactly:)) else { return nil }
      return try? Service(stream: stream.name, path: stream.path, kind: kind, port: port)
    }
  }
}

/// The ports and host names of a server, once it listens.
private final class Listening: Sendable {
  private let state = Mutex<(ports: CameraServerPorts, hosts: [String])?>(nil)

  var ports: CameraServerPorts? {
    self.state.withLock { $0?.ports }
  }

  func open(_ ports: CameraServerPorts, hosts: [String]) {
    self.state.withLock { $0 = (ports, hosts) }
  }

  func addresses(of stream: LiveStream) -> StreamAddresses {
    let (hosts, ports) = self.state.withLock { ($0?.hosts ?? [], $0?.ports ?? CameraServerPorts(rtsp: 0)) }
    return StreamAddresses(path: stream.path, hosts: hosts, ports: ports)
  }
}
