package import Authentication
internal import HTTPTypes
internal import HummingbirdCore
internal import HummingbirdHTTP2
package import Media
internal import NIOCore
package import NIOPosix
package import Serving
internal import Synchronization
internal import Threading

/// An HTTP server for any number of clients: connections and their limits, TLS, and the rules of HTTP for the responses of an
/// ``HTTPApplication``.
///
/// HTTP/1.1 on the plain port; HTTP/2 and HTTP/1.1 on the TLS port.
///
/// `WebServer` has one, which it starts and stops from any task. Requests reach the application on the event loop of their connection:
///
/// ```swift
/// let http = HTTPServer(settings: settings, access: access)
/// try await http.start(serving: application)
/// await http.stop()
/// ```
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
  /// Rules of hosts, origins and header fields, with the counters of responses.
  package let policy: HTTPPolicy
  private let report: @Sendable (String) -> Void
  private let sockets: ListeningSockets
  /// The event loops of the connections.
  package let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  private let loops: ConnectionLoops
  private let state = Mutex(State())
  private let authorityDocument = Mutex<AuthorityDocument?>(nil)

  /// One event loop per core, at most four: the encoders need the remaining cores.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// Creates a server; ``start(serving:)`` opens its ports.
  ///
  /// - Parameters:
  ///   - access: Users, tokens and rules, shared with other protocols.
  ///   - group: Event loops shared with other servers, and shut down by their owner; nil for a group of its own.
  ///   - registry: The connections of all servers of the process.
  ///   - report: Receives a line for each renewed certificate that cannot be stored.
  ///   - sockets: Sockets in place of ones that are opened.
  package init(
    settings: HTTPServerSettings, access: AccessControl, group: MultiThreadedEventLoopGroup? = nil,
    registry: ConnectionRegistry = ConnectionRegistry(), report: @escaping @Sendable (String) -> Void = { _ in },
    sockets: ListeningSockets = ListeningSockets()
  ) {
    self.settings = settings
    self.policy = HTTPPolicy(access: access)
    self.report = report
    self.sockets = sockets
    self.ownsGroup = group == nil
    self.group = group ?? MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount)
    self.loops = ConnectionLoops(
      eventLoops: Array(self.group.makeIterator()), limits: settings.limits, registry: registry,
      proxies: access.settings.proxies)
  }

  /// The ports in use; nil before ``start(serving:)``.
  package var ports: Ports? {
    self.state.withLock { $0.ports }
  }

  /// SHA-256 fingerprint of the certificate, as browsers display it: pairs of hexadecimal digits separated by colons; nil
  /// without TLS and before ``start(serving:)``. That of a renewed certificate differs.
  package var certificateFingerprint: String? {
    self.state.withLock { $0.certificate }?.fingerprint
  }

  /// The certificate of the local authority, for phones to trust; nil without one and before ``loadCertificate()``.
  package var authority: AuthorityDocument? {
    self.authorityDocument.withLock { $0 }
  }

  /// The certificate, for other servers of the process; nil without TLS and before ``loadCertificate()``.
  package var certificate: TLSCertificate? {
    self.state.withLock { $0.certificate?.tls }
  }

  /// Number of open connections.
  package var connectionCount: Int { self.loops.count }

  /// Number of connections closed because the client was too slow.
  package var timedOutCount: Int { self.loops.timedOut }

  /// The connections of all servers of the process.
  package var registry: ConnectionRegistry { self.loops.registry }

  /// Reads the certificate of TLS, or has it made, so that other servers can take it before the ports are open; no effect without TLS,
  /// and when that is done.
  ///
  /// - Throws: `VidiconError` for unusable files.
  package func loadCertificate() throws(VidiconError) {
    guard let tls = self.settings.tls, self.certificate == nil else { return }
    let certificate = try ServerCertificate(tls.certificate, report: self.report)
    self.authorityDocument.withLock { $0 = certificate.authority }
    self.state.withLock { $0.certificate = certificate }
  }

  /// Opens the ports, and serves an application; no effect when they are open.
  ///
  /// - Throws: `VidiconError`: `portInUse`, `notPermitted` or `notFound` for a port or address, `invalidSpecification` for
  ///   a malformed address or an unusable user, and errors of the certificate files.
  package func start(serving application: any HTTPApplication) async throws(VidiconError) {
    guard self.ports == nil else { return }
    let address = TCPListener.boundAddress(self.settings.address)
    guard (try? SocketAddress(ipAddress: address, port: 0)) != nil else {
      throw VidiconError(
        .invalidSpecification, subject: "address", cause: "not an IPv4 or IPv6 address",
        nextStep: "give an address of this machine, such as 127.0.0.1, or none to listen on all")
    }
    for user in self.policy.access.settings.users where !user.isUsable {
      throw VidiconError(
        .invalidSpecification, subject: "user \"\(user.user)\"", cause: "the name or password cannot be used",
        nextStep: "give a name without a colon and a password that is not empty")
    }
    try self.loadCertificate()
    let certificate = self.state.withLock { $0.certificate }
    await self.loops.open()
    let plain = HTTP1Channel(
      responder: self.respond(application, isSecure: false),
      configuration: self.channelConfiguration(application, isSecure: false))
    let ports = PortChoice(self.settings.port, alternatives: self.settings.alternativePorts)
    var listeners = [try await self.listen(plain, as: .http, address: address, ports)]
    if let tls = self.settings.tls, let certificate {
      do throws(VidiconError) {
        let secure = try self.secureChannel(certificate, application)
        let ports = PortChoice(tls.port, alternatives: tls.alternativePorts)
        listeners.append(try await self.listen(secure, as: .https, address: address, ports))
      } catch {
        await listeners[0].close()
        await listeners[0].waitForEnd()
        throw error
      }
    }
    let opened = listeners.map(\.port)
    self.state.withLock { state in
      state.ports = Ports(http: opened[0], https: opened.count > 1 ? opened[1] : nil)
      state.listeners = listeners
    }
  }

  /// Stops accepting connections: further ones wait in the system's queue, for another process that has a descriptor of the port.
  package func pause() async {
    for listener in self.state.withLock({ $0.listeners }) { await listener.pause() }
  }

  /// Closes the ports and every connection; the server cannot start again.
  package func stop() async {
    await self.closePorts()
    // Fails only when called twice, or from one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  /// Closes the ports and every connection; the server can start again.
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

  private func listen(
    _ channel: some ServerChildChannel, as role: ListeningSockets.Role, address: String, _ ports: PortChoice
  ) async throws(VidiconError) -> Listener {
    try await ports.open { port throws(VidiconError) in
      do {
        return try await Listener.open(
          GuardedChannel(base: channel, loops: self.loops), address: address, port: port, group: self.group,
          registry: self.loops.registry, sockets: self.sockets, role: role)
      } catch {
        throw VidiconError(
          binding: error, address: self.settings.address, port: port, options: "--http-port or --https-port",
          unprivilegedPort: 8080)
      }
    }
  }

  /// HTTP over TLS: HTTP/2 when the client negotiates it by ALPN.
  private func secureChannel(
    _ certificate: ServerCertificate, _ application: any HTTPApplication
  ) throws(VidiconError) -> HTTP2UpgradeChannel {
    do {
      return try HTTP2UpgradeChannel(
        tlsConfiguration: certificate.tls.configuration,
        configuration: HTTP2ChannelConfiguration(
          idleTimeout: .nanoseconds(self.settings.limits.idleTime.nanoseconds),
          streamConfiguration: self.channelConfiguration(application, isSecure: true)),
        responder: self.respond(application, isSecure: true))
    } catch {
      throw VidiconError(
        .invalidData, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give another certificate chain and its private key")
    }
  }

  /// The configuration of an HTTP/1.1 connection and of an HTTP/2 stream.
  private func channelConfiguration(
    _ application: any HTTPApplication, isSecure: Bool
  ) -> HTTP1Channel.Configuration {
    let (limits, counters) = (self.settings.limits, self.policy.counters)
    return HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        ExchangeHandler(limits: limits, counters: counters, isSecure: isSecure, application: application)
      ],
      httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: 128))
  }

  /// Responds to a request on its connection's event loop.
  private func respond(_ application: any HTTPApplication, isSecure: Bool) -> HTTPChannelHandler.Responder {
    let loops = self.loops
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
        let response = await application.respond(to: head, client: client, body: body)
        let measured = response.measured
        try await response.write(to: writer, on: channel)
        return Self.measure(channel, measured)
      }
      // HTTP/2: a reset of the stream must cancel the wait of its request.
      let response = Task(executorPreference: loops[channel.eventLoop].executor) {
        await application.respond(to: head, client: client, body: body)
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
    _ channel: any Channel, _ measured: (@Sendable (ConnectionThroughput) -> Void)?
  ) {
    guard let measured else { return }
    channel.eventLoop.execute {
      if let measurement = ConnectionThroughput(channel) { measured(measurement) }
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
