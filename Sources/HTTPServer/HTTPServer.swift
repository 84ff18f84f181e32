internal import Authentication
internal import HTTPTypes
internal import HummingbirdCore
internal import HummingbirdHTTP2
internal import Media
internal import NIOCore
package import NIOPosix
public import Streaming
internal import Synchronization
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// An HTTP server for any number of streams and viewers: HLS, pictures, the web page, numbers.
///
/// Plain HTTP/1.1 and, where TLS is on, HTTP/2. What is sent is built once and shared by all who ask.
public final class HTTPServer: Sendable {
  /// The TCP ports in use.
  public struct Ports: Hashable, Sendable {
    /// HTTP.
    public var http: Int
    /// HTTP over TLS, where it is on.
    public var https: Int?
  }

  private struct State {
    var ports: Ports?
    var listeners: [Listener] = []
    var fingerprint: String?
  }

  private let settings: HTTPServerSettings
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let loops: ConnectionLoops
  let streams = PublishedStreams()
  let responder: HTTPResponder
  private let state = Mutex(State())

  /// An event loop for each core, at most four: beyond that the streams' encoders need the cores more.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// A server that does not listen yet.
  public convenience init(settings: HTTPServerSettings, extras: HTTPServerExtras = HTTPServerExtras()) {
    self.init(settings: settings, extras: extras, group: nil)
  }

  /// A server that does not listen yet.
  ///
  /// - Parameter group: Event loops that are shared with other servers, and shut down by who made them; nil for some of
  ///   its own.
  package init(settings: HTTPServerSettings, extras: HTTPServerExtras, group: MultiThreadedEventLoopGroup?) {
    self.settings = settings
    self.ownsGroup = group == nil
    self.group = group ?? MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    self.loops = ConnectionLoops(
      eventLoops: Array(self.group.makeIterator()), limits: settings.limits,
      most: min(settings.limits.connections, Self.mostFiles))
    self.responder = HTTPResponder(
      streams: self.streams, extras: extras,
      authenticator: Authenticator(
        credentials: settings.credentials, secret: (0..<32).map { _ in UInt8.random(in: 0...UInt8.max) }),
      control: settings.control, trustsThisMachine: settings.trustsThisMachine, connections: self.loops,
      files: OpenFiles(most: settings.limits.downloads))
  }

  /// The ports in use; nil before ``start()``.
  public var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// The SHA-256 hash of the certificate, as browsers show it: pairs of hexadecimal digits with colons between; nil without
  /// TLS and before ``start()``.
  public var certificateFingerprint: String? {
    self.state.withLock { $0.fingerprint }
  }

  /// What the viewers of a stream got; all zero when it is not published.
  public func statistics(of stream: LiveStream) -> HTTPStreamStatistics {
    guard let published = self.streams[stream] else { return HTTPStreamStatistics() }
    let now = StreamClock.system.now()
    return HTTPStreamStatistics(
      hlsViewers: published.viewers(of: .hls, at: now), motionJPEGViewers: published.viewers(of: .mjpeg, at: now),
      bytesSent: PublishedStream.Content.allCases.reduce(0) { $0 + published.bytesSent(of: $1) })
  }

  /// Makes a stream that has been started available under its name; the first one also without a name.
  public func publish(_ stream: LiveStream) {
    let clock = StreamClock.system
    let published = PublishedStream(
      stream, publishedAt: MediaDuration(nanoseconds: clock.unixTime(at: clock.now())), eventLoop: self.group.next())
    self.streams.append(published)
    stream.add(published.hls)
    stream.add(published.faces)
  }

  /// Takes a stream away: requests that wait for it are answered, and motion pictures end.
  ///
  /// For some seconds its playlists still say that it has ended, and its segments can be fetched, so that players of HLS
  /// show all of it.
  public func unpublish(_ stream: LiveStream) {
    guard let published = self.streams.end(stream) else { return }
    stream.remove(published.hls)
    stream.remove(published.faces)
    published.end()
    self.group.next().scheduleTask(in: Self.timeAfterEnd) { [streams = self.streams] in streams.remove(published) }
  }

  /// How long a stream that ended is there for viewers of HLS.
  private static let timeAfterEnd = TimeAmount.seconds(10)

  /// Opens the ports; without effect when they are open.
  ///
  /// - Throws: ``HTTPServerError`` when a port is taken or may not be used, or the certificate cannot be had.
  public func start() async throws(HTTPServerError) {
    guard self.ports == nil else { return }
    let address = self.settings.address ?? Self.anyAddress
    guard (try? SocketAddress(ipAddress: address, port: 0)) != nil else {
      throw HTTPServerError(
        .malformedAddress, cause: "\"\(address)\" is not an IPv4 or IPv6 address",
        nextStep: "give one of this machine's, such as 127.0.0.1, or none to listen on all")
    }
    for credentials in self.settings.credentials where !credentials.isUsable {
      throw HTTPServerError(
        .invalidCredential, cause: "\"\(credentials.user)\" cannot watch with this name and password",
        nextStep: "give a name without a colon and a password that is not empty")
    }
    let certificate = try self.settings.tls.map { tls throws(HTTPServerError) in try ServerCertificate(tls.certificate)
    }
    let plain = HTTP1Channel(responder: self.respond, configuration: self.channelConfiguration)
    var listeners = [try await self.listen(plain, address: address, port: self.settings.port)]
    if let tls = self.settings.tls, let certificate {
      do throws(HTTPServerError) {
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
      state.fingerprint = certificate?.fingerprint
    }
  }

  /// Closes the ports and every connection, once those who watch over HLS have learnt that the streams have ended, which
  /// takes them at most as long as they wait before they ask for a playlist again.
  public func stop() async {
    let listeners = self.state.withLock { state in
      defer { state = State() }
      return state.listeners
    }
    for published in self.streams.all { self.unpublish(published.stream) }
    await self.waitForViewers()
    for listener in listeners { await listener.pause() }
    await self.loops.waitForTasks()
    for listener in listeners { await listener.close() }
    await self.loops.closeAll()
    for listener in listeners { await listener.waitForEnd() }
    // It fails only when called twice, or from one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  /// Waits until nobody is expected to ask for the end of a stream any more.
  private func waitForViewers() async {
    while true {
      let now = StreamClock.system.now()
      guard self.streams.ended.contains(where: { $0.awaitsViewers(at: now) }) else { return }
      // Not a sleep, which a cancelled task does not do.
      try? await self.group.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
    }
  }

  private func listen(
    _ channel: some ServerChildChannel, address: String, port: Int
  ) async throws(HTTPServerError) -> Listener {
    do {
      return try await Listener.open(
        GuardedChannel(base: channel, loops: self.loops), address: address, port: port, group: self.group)
    } catch {
      throw HTTPServerError(error, address: self.settings.address, port: port)
    }
  }

  /// HTTP over TLS: HTTP/2 for clients that know it.
  private func secureChannel(_ certificate: ServerCertificate) throws(HTTPServerError) -> HTTP2UpgradeChannel {
    do {
      return try HTTP2UpgradeChannel(
        tlsConfiguration: certificate.configuration,
        configuration: HTTP2ChannelConfiguration(
          idleTimeout: .nanoseconds(self.settings.limits.idleTime.nanoseconds),
          streamConfiguration: self.channelConfiguration),
        responder: self.respond)
    } catch {
      throw HTTPServerError(
        .invalidCertificate, cause: "the certificate cannot be used for TLS (\(error))",
        nextStep: "give another certificate and its key")
    }
  }

  /// What holds for an HTTP/1.1 connection and for a stream of HTTP/2.
  private var channelConfiguration: HTTP1Channel.Configuration {
    let (limits, counters) = (self.settings.limits, self.responder.counters)
    return HTTP1Channel.Configuration(
      additionalChannelHandlers: [ExchangeHandler(limits: limits, counters: counters)],
      httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: 128))
  }

  /// Answers a request on its connection.
  private var respond: HTTPChannelHandler.Responder {
    let (responder, loops) = (self.responder, self.loops)
    return { request, writer, channel in
      let head = request.head
      let client = HTTPClient(
        address: channel.remoteAddress?.ipAddress ?? "", localAddress: channel.localAddress?.ipAddress ?? "")
      let body: @Sendable (Int) async -> ByteBuffer? = { most in
        // A body that is too long, or a connection that ends.
        try? await request.body.collect(upTo: most)
      }
      // Of HTTP/1.1 the connection is all there is, and its end ends this task.
      guard channel.parent?.parent != nil else {
        return try await responder.answer(head, client: client, body: body).write(to: writer, on: channel)
      }
      // What a stream of HTTP/2 waits for is of no use when the client has taken its request back.
      let answer = Task(executorPreference: loops[channel.eventLoop].executor) {
        await responder.answer(head, client: client, body: body)
      }
      channel.closeFuture.whenComplete { _ in answer.cancel() }
      let value = await withTaskCancellationHandler {
        await answer.value
      } onCancel: {
        answer.cancel()
      }
      try await value.write(to: writer, on: channel)
    }
  }

  /// All IPv6 and IPv4 addresses, or all IPv4 ones on a machine without IPv6.
  private static var anyAddress: String {
    let devices = (try? System.enumerateDevices()) ?? []
    return devices.contains { $0.address?.protocol == .inet6 } ? "::" : "0.0.0.0"
  }

  /// Files that connections may have open: at the system's limit nobody could be refused, and the rest of the process
  /// needs some: half of few, else 128.
  private static let mostFiles: Int = {
    var limit = rlimit()
    #if canImport(Darwin)
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #else
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #endif
    guard result == 0 else { return 1024 }
    let files = Int(clamping: limit.rlim_cur)
    return max(1, files - min(128, files / 2))
  }()
}
