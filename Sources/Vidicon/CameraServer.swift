internal import CaptureDevices
public import Discovery
public import HTTPServer
public import Media
internal import NIOCore
internal import NIOPosix
public import RTSPServer
public import Recording
public import Streaming
internal import Synchronization
internal import WebPage

/// Publishes streams on the network: over RTSP, and over HTTP as HLS, as pictures and with a web page.
///
/// A server runs once: after ``stop()`` it is let go.
///
/// ```swift
/// let server = CameraServer(rtspPort: 8554, httpPort: 8080)
/// try await server.publish(stream)
/// try await server.run()  // until cancelled
/// ```
public final class CameraServer: Sendable {
  /// The address that stands for all of a machine's, where none is given.
  private static let anyAddress = "::"

  /// An event loop for each core, at most four: beyond that the streams' encoders need the cores more.
  private static let eventLoopCount = min(System.coreCount, 4)

  private let settings: CameraServerSettings
  /// The event loops of all protocols.
  private let group: MultiThreadedEventLoopGroup
  private let rtsp: RTSPServer
  private let http: HTTPServer?
  private let announcer: ServiceAnnouncer?
  private let listening = Listening()
  private let streams = Mutex<[LiveStream]>([])
  private let recorders = AttachedRecorders()
  private let sources: AttachedSources
  private let effects = AttachedEffects()

  /// A server that does not listen yet.
  ///
  /// - Parameters:
  ///   - rtspPort: The TCP port for RTSP; 0 for any free one.
  ///   - httpPort: The TCP port for HTTP; 0 for any free one.
  public convenience init(rtspPort: Int = 8554, httpPort: Int = 8080) {
    self.init(
      settings: CameraServerSettings(
        rtsp: RTSPServerSettings(port: rtspPort), http: HTTPServerSettings(port: httpPort)))
  }

  /// A server that does not listen yet, with every setting of its protocols.
  ///
  /// - Parameters:
  ///   - offer: Which sources the streams can be switched to over HTTP, on the page and in code, unless they have one of
  ///     their own: see ``attach(_:to:)``.
  ///   - discovery: Told under which name each stream is announced, and when that is not possible, on a thread of the
  ///     announcer's.
  public init(
    settings: CameraServerSettings, offer: SourceCatalog = .all,
    discovery: @escaping @Sendable (DiscoveryEvent) -> Void = { _ in }
  ) {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    let rtsp = RTSPServer(settings: settings.rtsp, group: group)
    let (listening, recorders, effects) = (self.listening, self.recorders, self.effects)
    let sources = AttachedSources(offer: offer)
    self.sources = sources
    self.settings = settings
    self.group = group
    self.rtsp = rtsp
    self.http = settings.http.map { http in
      HTTPServer(
        settings: http,
        extras: .camera(
          rtsp: rtsp, addresses: { listening.addresses(of: $0) },
          recorder: { recorders.recorder(of: $0).map(HTTPServerRecorder.init) }, sources: sources,
          effects: effects), group: group)
    }
    self.announcer =
      settings.isAnnounced
      ? ServiceAnnouncer(listeningOn: settings.rtsp.address ?? Self.anyAddress, report: discovery) : nil
  }

  /// The ports in use; nil before ``start()``.
  public var ports: CameraServerPorts? {
    self.listening.ports
  }

  /// Where a stream is found, for people; empty before ``start()``.
  public func addresses(of stream: LiveStream) -> StreamAddresses {
    self.listening.addresses(of: stream)
  }

  /// Makes a recorder of a stream known, in place of the one before: ``recorder(of:)`` finds it, and when the stream is
  /// taken away or the server stops, its recording is finished. Starting it is up to its owner.
  public func attach(_ recorder: Recorder, to stream: LiveStream) {
    self.recorders.attach(recorder, to: stream)
  }

  /// The recorder of a stream; nil when none was attached.
  public func recorder(of stream: LiveStream) -> Recorder? {
    self.recorders.recorder(of: stream)
  }

  /// Sets what names a stream's sources and which others it can have, in place of what was set before; by default a
  /// published stream has sources without names, and the offer of the server.
  public func attach(_ sources: StreamSources, to stream: LiveStream) {
    self.sources.attach(sources, to: stream)
  }

  /// The sources of a stream, to be switched while it runs; nil when it is not published.
  public func sources(of stream: LiveStream) -> StreamSources? {
    self.sources.sources(of: stream)
  }

  /// Sets how a stream's effects are changed, in place of what was set before; by default a published stream has effects
  /// without images.
  public func attach(_ effects: StreamEffects, to stream: LiveStream) {
    self.effects.attach(effects, to: stream)
  }

  /// The effects of a stream, to be changed while it runs; nil when it is not published.
  public func effects(of stream: LiveStream) -> StreamEffects? {
    self.effects.effects(of: stream)
  }

  /// The SHA-256 fingerprint of the certificate of HTTP over TLS, for people to compare; nil without it.
  public var certificateFingerprint: String? {
    self.http?.certificateFingerprint
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: ``CameraServerError`` when a port is taken or may not be used, or the TLS files cannot be read.
  public func start() async throws(CameraServerError) {
    guard self.ports == nil else { return }
    do throws(VidiconError) {
      try await self.rtsp.start()
    } catch {
      throw .rtsp(error)
    }
    do throws(VidiconError) {
      try await self.http?.start()
    } catch {
      await self.rtsp.stop()
      throw .http(error)
    }
    guard let rtsp = self.rtsp.ports else { return }
    let http = self.http?.ports
    self.listening.open(
      CameraServerPorts(rtsp: rtsp.rtsp, rtsps: rtsp.rtsps, http: http?.http, https: http?.https),
      hosts: NetworkAddresses.hosts(listeningOn: self.settings.rtsp.address ?? Self.anyAddress))
    // Those that were published before had no port to tell.
    for stream in self.streams.withLock({ $0 }) where stream.isRunning { self.announce(stream) }
  }

  /// Starts a stream, unless it runs already, and makes it available; the first one published is also found without a
  /// name over RTSP.
  ///
  /// - Throws: ``VidiconError`` when its name cannot stand in an address or is taken by another stream that has not ended,
  ///   when it is published already, or a source or an encoder cannot be opened.
  public func publish(_ stream: LiveStream) async throws(VidiconError) {
    if let cause = LiveStream.problem(withName: stream.name) {
      throw .streamNameUnusable(stream.name, cause: cause)
    }
    let isAdded = self.streams.withLock { streams in
      streams.removeAll { $0.name == stream.name && $0.hasEnded }
      guard !streams.contains(where: { $0.name == stream.name }) else { return false }
      streams.append(stream)
      return true
    }
    guard isAdded else { throw .streamNameTaken(stream.name) }
    if !stream.isRunning {
      do throws(VidiconError) {
        try await stream.start()
      } catch {
        self.streams.withLock { $0.removeAll { $0 === stream } }
        throw error
      }
    }
    // It may have been taken away, or the server stopped, while it started.
    guard self.streams.withLock({ $0.contains { $0 === stream } }) else {
      await stream.stop()
      throw .streamStopped
    }
    self.sources.attachDefault(to: stream)
    self.effects.attachDefault(to: stream)
    self.rtsp.publish(stream)
    self.http?.publish(stream)
    self.announce(stream)
  }

  /// Takes a stream from the network: its viewers are told goodbye, it is stopped, and its recording is finished.
  public func unpublish(_ stream: LiveStream) async {
    let recorder = self.recorders.detach(from: stream)
    async let recorded = recorder?.stop()
    await self.end(stream)
    _ = await recorded
  }

  /// Takes a stream from the network and stops it; a recording of it ends by that.
  private func end(_ stream: LiveStream) async {
    self.streams.withLock { $0.removeAll { $0 === stream } }
    for service in self.services(of: stream) { self.announcer?.withdraw(service) }
    self.rtsp.unpublish(stream)
    await stream.stop()
    self.http?.unpublish(stream)
    self.sources.detach(from: stream)
    self.effects.detach(from: stream)
  }

  /// Those who watch a stream now, over whichever protocol.
  public func viewers(of stream: LiveStream) -> Int {
    let http = self.httpStatistics(of: stream)
    return self.rtspStatistics(of: stream).viewers + http.hlsViewers + http.motionJPEGViewers
  }

  /// What the viewers of a stream got over RTSP.
  public func rtspStatistics(of stream: LiveStream) -> RTSPStreamStatistics {
    self.rtsp.statistics(of: stream)
  }

  /// What the viewers of a stream got over HTTP; all zero without it.
  public func httpStatistics(of stream: LiveStream) -> HTTPStreamStatistics {
    self.http?.statistics(of: stream) ?? HTTPStreamStatistics()
  }

  /// Messages from viewers that were not RTSP, since the server started.
  public var malformedRequests: Int {
    self.rtsp.malformedRequests
  }

  /// Opens the ports, if that has not happened, and serves until the task is cancelled; then ends in order.
  ///
  /// - Throws: ``CameraServerError`` when a port cannot be opened.
  public func run() async throws(CameraServerError) {
    try await self.start()
    let (ending, continuation) = AsyncStream<Never>.makeStream()
    await withTaskCancellationHandler {
      for await _ in ending {}
    } onCancel: {
      continuation.finish()
    }
    await self.stop()
  }

  /// Withdraws the announcements, stops every stream, tells every viewer goodbye, closes the ports and finishes the
  /// recordings.
  ///
  /// - Parameter limit: How long to wait at most for the recordings, which are copied once; nil for as long as it takes.
  ///   What is not finished by then is a fragmented file, which plays, and is finished in the background, or when the
  ///   process ends before that, by the next recording of its pattern or ``Recordings/repair(_:)``.
  /// - Returns: Whether all recordings are over.
  @discardableResult
  public func stop(finishingRecordingsWithin limit: Duration? = nil) async -> Bool {
    async let recorded = self.recorders.stop(within: limit)
    async let withdrawn: Void? = self.announcer?.stop()
    for stream in self.streams.withLock({ $0 }) { await self.end(stream) }
    await self.http?.stop()
    await self.rtsp.stop()
    await withdrawn
    // It fails only when called twice, or from one of its own event loops.
    try? await self.group.shutdownGracefully()
    return await recorded
  }

  /// Announces a stream, unless it was taken away meanwhile.
  private func announce(_ stream: LiveStream) {
    let services = self.services(of: stream)
    // The lock keeps it before the withdrawal, which comes when the stream is no longer here.
    self.streams.withLock { streams in
      guard streams.contains(where: { $0 === stream }) else { return }
      for service in services { self.announcer?.announce(service) }
    }
  }

  /// What is announced of a stream; nothing before the ports are open, and where its name is too long for that.
  private func services(of stream: LiveStream) -> [Service] {
    guard let ports else { return [] }
    return [(Service.Kind.http, ports.http), (.rtsp, ports.rtsp)].compactMap { kind, port in
      guard let port = port.flatMap(UInt16.init(exactly:)) else { return nil }
      return try? Service(stream: stream.name, path: stream.path, kind: kind, port: port)
    }
  }
}

/// Where a server listens, once it does.
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

extension HTTPServerExtras {
  /// What a camera server adds to HTTP: the web page, addresses, QR codes, the numbers of RTSP, the recorders, the sources
  /// and the effects.
  fileprivate static func camera(
    rtsp: RTSPServer, addresses: @escaping @Sendable (LiveStream) -> StreamAddresses,
    recorder: @escaping @Sendable (LiveStream) -> HTTPServerRecorder?, sources: AttachedSources,
    effects: AttachedEffects
  ) -> HTTPServerExtras {
    var extras = HTTPServerExtras()
    extras.file = { page in
      let file =
        switch page {
        case .list: WebPage.list
        case .player: WebPage.player
        case .recordings: WebPage.recordings
        case .file(let path): WebPage.file(path)
        }
      return file.map { file in
        File(
          body: file.bytes, mediaType: file.mediaType, etag: file.entityTag, cacheControl: WebPage.cacheControl,
          contentSecurityPolicy: WebPage.contentSecurityPolicy)
      }
    }
    extras.qrCode = { text in
      do throws(VidiconError) {
        return try QRCode(text).svg
      } catch {
        return nil  // Too long to be read from a screen, which the answer says.
      }
    }
    extras.addresses = { stream in
      let addresses = addresses(stream)
      return Addresses(rtsp: addresses.rtsp, http: addresses.page)
    }
    extras.recorder = recorder
    extras.control = { sources.sources(of: $0).map(HTTPServerControl.init) }
    extras.effects = effects
    extras.devices = HTTPServerDevices { sources.list(isTrusted: $0) }
    extras.statistics = { stream in
      let statistics = rtsp.statistics(of: stream)
      return [
        ProtocolStatistics(
          name: "rtsp", viewers: statistics.viewers, bytesSent: statistics.bytesSent,
          picturesSkipped: statistics.picturesSkipped)
      ]
    }
    return extras
  }
}
