package import Authentication
internal import HTTPTypes
internal import HummingbirdCore
internal import HummingbirdHTTP2
package import Media
internal import NIOCore
package import NIOPosix
package import Serving
package import Streaming
internal import Synchronization
internal import Threading

/// An HTTP server for any number of streams and viewers: HLS, motion JPEG, snapshots, the web page, the API and metrics.
///
/// HTTP/1.1 on the plain port; HTTP/2 and HTTP/1.1 on the TLS port. Playlists, segments and images are built once and
/// shared by all responses.
package final class HTTPServer: Sendable {
  /// The TCP ports in use.
  package struct Ports: Hashable, Sendable {
    /// TCP port of HTTP, 1 to 65,535.
    package var http: Int
    /// TCP port of HTTP over TLS, 1 to 65,535; nil without TLS.
    package var https: Int?
  }

  private struct State {
    var ports: Ports?
    var listeners: [Listener] = []
    var certificate: ServerCertificate?
  }

  private let settings: HTTPServerSettings
  private let access: AccessControl
  private let report: @Sendable (String) -> Void
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let loops: ConnectionLoops
  let streams = PublishedStreams()
  let responder: HTTPResponder
  private let state = Mutex(State())

  /// One event loop per core, at most four: the encoders need the remaining cores.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// Creates a server; ``start()`` opens its ports.
  ///
  /// - Parameters:
  ///   - access: Users, tokens and rules, shared with other protocols.
  ///   - passwords: Compares passwords with scrypt hashes for all servers; nil for a checker of its own.
  ///   - group: Event loops shared with other servers, and shut down by their owner; nil for a group of its own.
  ///   - registry: The connections of all servers of the process.
  ///   - report: Receives a line for each renewed certificate that cannot be stored.
  package init(
    settings: HTTPServerSettings, access: AccessControl, passwords: PasswordChecker? = nil,
    providers: HTTPServerProviders = HTTPServerProviders(), group: MultiThreadedEventLoopGroup? = nil,
    registry: ConnectionRegistry = ConnectionRegistry(), report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.settings = settings
    self.access = access
    self.report = report
    self.ownsGroup = group == nil
    self.group = group ?? MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    self.loops = ConnectionLoops(
      eventLoops: Array(self.group.makeIterator()), limits: settings.limits, registry: registry,
      proxies: access.settings.proxies)
    self.responder = HTTPResponder(
      streams: self.streams, providers: providers,
      access: access, passwords: passwords ?? PasswordChecker(access: access), connections: self.loops,
      files: OpenFiles(most: settings.limits.downloads), qrCodes: providers.qrCode.map(QRCodes.init))
  }

  /// The ports in use; nil before ``start()``.
  package var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// SHA-256 fingerprint of the certificate, as browsers display it: pairs of hexadecimal digits separated by colons; nil
  /// without TLS and before ``start()``. That of a renewed certificate differs.
  package var certificateFingerprint: String? {
    self.state.withLock { $0.certificate }?.fingerprint
  }

  /// SHA-256 fingerprint of the local authority, in the same form; nil without one and before ``start()``.
  package var authorityFingerprint: String? {
    self.responder.authority.document?.fingerprint
  }

  /// The certificate, for other servers of the process; nil without TLS and before ``loadCertificate()``.
  package var certificate: TLSCertificate? {
    self.state.withLock { $0.certificate?.tls }
  }

  /// Viewers and bytes sent of a stream over HTTP; zero when it is not published.
  package func statistics(of stream: LiveStream) -> HTTPStreamStatistics {
    guard let published = self.streams[stream] else { return HTTPStreamStatistics() }
    let now = StreamClock.system.now()
    return HTTPStreamStatistics(
      hlsViewers: published.viewers(of: .hls, at: now), motionJPEGViewers: published.viewers(of: .mjpeg, at: now),
      bytesSent: PublishedStream.Content.allCases.reduce(0) { $0 + published.bytesSent(of: $1) })
  }

  /// HLS viewers of a rendition; zero when its stream is not published. Those of the main one are the stream's others.
  package func hlsViewers(of rendition: Rendition) -> Int {
    guard let published = self.streams[rendition.stream] else { return 0 }
    let now = StreamClock.system.now()
    guard rendition.isMain else { return published.hlsViewers(of: rendition.name, at: now) }
    let others = rendition.stream.renditions.reduce(0) { $0 + published.hlsViewers(of: $1.name, at: now) }
    return max(0, published.viewers(of: .hls, at: now) - others)
  }

  /// Serves a started stream under its name; the files of the first stream are also served without a name.
  package func publish(_ stream: LiveStream) {
    let clock = StreamClock.system
    let published = PublishedStream(
      stream, publishedAt: MediaDuration(nanoseconds: clock.unixTime(at: clock.now())),
      viewerIdleTime: self.settings.limits.viewerIdleTime, eventLoop: self.group.next())
    self.streams.append(published)
    stream.add(published.hls)
    stream.add(published.faces)
  }

  /// Stops serving a stream: waiting requests are answered, and motion JPEG responses end.
  ///
  /// Its playlists, now with `EXT-X-ENDLIST`, and its segments are served for ten more target durations, at least
  /// ``HTTPServerLimits/viewerIdleTime`` (10 s, unless the source's keyframes are rare), so that HLS players can play to the end.
  package func unpublish(_ stream: LiveStream) {
    guard let published = self.streams.end(stream) else { return }
    stream.remove(published.hls)
    stream.remove(published.faces)
    published.end()
    self.group.next().scheduleTask(in: .nanoseconds(published.hls.viewerTimes.retention.nanoseconds)) {
      [streams = self.streams] in streams.remove(published)
    }
  }

  /// Reads the certificate of TLS, or has it made, so that other servers can take it before the ports are open; no effect without TLS,
  /// and when that is done.
  ///
  /// - Throws: `VidiconError` for unusable files.
  package func loadCertificate() throws(VidiconError) {
    guard let tls = self.settings.tls, self.certificate == nil else { return }
    let certificate = try ServerCertificate(tls.certificate, report: self.report)
    self.responder.authority.document = certificate.authority
    self.state.withLock { $0.certificate = certificate }
  }

  /// Opens the ports; no effect when they are open.
  ///
  /// - Throws: `VidiconError`: `portInUse`, `notPermitted` or `notFound` for a port or address, `invalidSpecification` for
  ///   a malformed address or an unusable user, and errors of the certificate files.
  package func start() async throws(VidiconError) {
    guard self.ports == nil else { return }
    let address = TCPListener.boundAddress(self.settings.address)
    guard (try? SocketAddress(ipAddress: address, port: 0)) != nil else {
      throw VidiconError(
        .invalidSpecification, subject: "address", cause: "not an IPv4 or IPv6 address",
        nextStep: "give an address of this machine, such as 127.0.0.1, or none to listen on all")
    }
    for user in self.access.settings.users where !user.isUsable {
      throw VidiconError(
        .invalidSpecification, subject: "user \"\(user.user)\"", cause: "the name or password cannot be used",
        nextStep: "give a name without a colon and a password that is not empty")
    }
    try self.loadCertificate()
    let certificate = self.state.withLock { $0.certificate }
    await self.loops.open()
    let plain = HTTP1Channel(
      responder: self.respond(isSecure: false), configuration: self.channelConfiguration(isSecure: false))
    var listeners = [try await self.listen(plain, address: address, port: self.settings.port)]
    if let tls = self.settings.tls, let certificate {
      do throws(VidiconError) {
        let secure = try self.secureChannel(certificate)
        listeners.append(try await self.listen(secure, address: address, port: tls.port))
      } catch {
        await listeners[0].close()
        await listeners[0].waitForEnd()
        throw error
      }
    }
    let ports = listeners.map(\.port)
    self.state.withLock { state in
      state.ports = Ports(http: ports[0], https: ports.count > 1 ? ports[1] : nil)
      state.listeners = listeners
    }
  }

  /// Ends all streams, then closes the ports and every connection.
  ///
  /// Waits until HLS players have reloaded the playlist, at most a target duration and 0.3 s (4.3 s in all), so that
  /// they see the end of the stream.
  package func stop() async {
    for published in self.streams.all { self.unpublish(published.stream) }
    await self.waitForHLSViewers()
    await self.closePorts()
    // Fails only when called twice, or from one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  /// Closes the ports and every connection; the streams stay published.
  package func closePorts() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    for listener in listeners { await listener.pause() }
    await self.loops.waitForTasks()
    for listener in listeners { await listener.close() }
    await self.loops.closeAll()
    for listener in listeners { await listener.waitForEnd() }
  }

  /// Waits until no HLS viewer is expected to fetch the end of a stream any more.
  private func waitForHLSViewers() async {
    while true {
      let now = StreamClock.system.now()
      guard self.streams.ended.contains(where: { $0.awaitsViewers(at: now) }) else { return }
      // `Task.sleep` returns at once in a cancelled task.
      try? await self.group.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
    }
  }

  private func listen(
    _ channel: some ServerChildChannel, address: String, port: Int
  ) async throws(VidiconError) -> Listener {
    do {
      return try await Listener.open(
        GuardedChannel(base: channel, loops: self.loops), address: address, port: port, group: self.group,
        registry: self.loops.registry)
    } catch {
      throw VidiconError(
        binding: error, address: self.settings.address, port: port, options: "--http-port or --https-port",
        unprivilegedPort: 8080)
    }
  }

  /// HTTP over TLS: HTTP/2 when the client negotiates it by ALPN.
  private func secureChannel(_ certificate: ServerCertificate) throws(VidiconError) -> HTTP2UpgradeChannel {
    do {
      return try HTTP2UpgradeChannel(
        tlsConfiguration: certificate.tls.configuration,
        configuration: HTTP2ChannelConfiguration(
          idleTimeout: .nanoseconds(self.settings.limits.idleTime.nanoseconds),
          streamConfiguration: self.channelConfiguration(isSecure: true)),
        responder: self.respond(isSecure: true))
    } catch {
      throw VidiconError(
        .invalidData, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give another certificate chain and its private key")
    }
  }

  /// The configuration of an HTTP/1.1 connection and of an HTTP/2 stream.
  private func channelConfiguration(isSecure: Bool) -> HTTP1Channel.Configuration {
    let (limits, responder) = (self.settings.limits, self.responder)
    return HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        ExchangeHandler(limits: limits, counters: responder.counters, isSecure: isSecure) {
          responder.respondAtOnce(to: $0, client: $1)
        }
      ],
      httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: 128))
  }

  /// Responds to a request on its connection's event loop.
  private func respond(isSecure: Bool) -> HTTPChannelHandler.Responder {
    let (responder, loops) = (self.responder, self.loops)
    return { request, writer, channel in
      let head = request.head
      let client = HTTPClient(channel, isSecure: isSecure)
      let body: @Sendable (Int) async -> ByteBuffer? = { maximumBytes in
        // nil: the body is too long, or the connection ended.
        guard let bytes = try? await request.body.collect(upTo: maximumBytes) else { return nil }
        // A body that was cut off because the request is refused, or its sender is gone, ends like a whole one.
        let length = head.headerFields[.contentLength].flatMap { Int($0) }
        return length == nil || length == bytes.readableBytes ? bytes : nil
      }
      // HTTP/1.1: the end of the connection cancels this task.
      guard channel.parent?.parent != nil else {
        let response = await responder.respond(to: head, client: client, body: body)
        let measured = response.measured
        try await response.write(to: writer, on: channel)
        return Self.measure(channel, measured)
      }
      // HTTP/2: a reset of the stream must cancel the wait of its request.
      let response = Task(executorPreference: loops[channel.eventLoop].executor) {
        await responder.respond(to: head, client: client, body: body)
      }
      channel.closeFuture.whenComplete { _ in response.cancel() }
      let value = await withTaskCancellationHandler {
        await response.value
      } onCancel: {
        response.cancel()
      }
      let measured = value.measured
      try await value.write(to: writer, on: channel)
      Self.measure(channel, measured)
    }
  }

  /// Measures the throughput of a connection after a response for which that is of interest.
  private static func measure(
    _ channel: any Channel, _ measured: (@Sendable (ViewerThroughputs.Measurement) -> Void)?
  ) {
    guard let measured else { return }
    channel.eventLoop.execute {
      if let measurement = ViewerThroughputs.Measurement(channel) { measured(measurement) }
    }
  }
}

extension HTTPClient {
  /// The client of a connection.
  init(_ channel: any Channel, isSecure: Bool) {
    self.init(
      address: channel.remoteAddress?.ipAddress ?? "", localAddress: channel.localAddress?.ipAddress ?? "",
      isSecure: isSecure)
  }
}
