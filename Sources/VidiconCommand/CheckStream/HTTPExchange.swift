import Media
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOTLS
import Threading

/// One request of a check over HTTP/1.1, on a connection of its own, with its response. Used on its event loop only.
final class HTTPExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// A request.
  struct Request: Sendable {
    var address: HTTPAddress
    var method = "GET"
    /// Value of `Authorization`; nil without one.
    var authorization: String?
    /// Whether it is that of a page of another server.
    var isOfOtherOrigin = false
    /// Body and its media type; nil without one.
    var body: (type: String, bytes: ByteBuffer)?
    /// Maximum length of the response's body in bytes; a longer one is cut off.
    var maximumLength = 4 << 20
    /// Time at which a response is cut off, or no longer waited for; nil for the deadline.
    var end: MediaTime?
    /// Time from the head of a response to that at which it is cut off, as of one without end; nil for the end alone.
    var responseTime: MediaDuration?
  }

  /// Origin of a page of another server, which `Access-Control-Allow-Origin` answers.
  static let origin = "https://player.example"

  private let request: Request
  private let endTime: MediaTime
  private let promise: EventLoopPromise<HTTPResult>
  private let clock = StreamClock.system
  private var sent = MediaTime.zero
  private var result: HTTPResult?
  private var byteCount = 0
  private var timer: Scheduled<Void>?

  private init(_ request: Request, until deadline: MediaTime, promise: EventLoopPromise<HTTPResult>) {
    self.request = request
    self.endTime = min(request.end ?? deadline, deadline)
    self.promise = promise
  }

  /// Sends a request.
  static func send(
    _ request: Request, isVerifying: Bool, until deadline: MediaTime
  ) async -> Result<HTTPResult, ConnectionFailure> {
    let address = request.address
    var connector = ProbeConnector(host: address.host, port: address.port)
    if address.isEncrypted {
      do throws(ConnectionFailure) {
        connector.tls = try ProbeConnector.tlsContext(isVerifying: isVerifying)
      } catch {
        return .failure(error)
      }
    }
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = eventLoop.makePromise(of: HTTPResult.self)
    let connection = connector.connect(on: eventLoop, until: deadline) { channel in
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHTTPClientHandlers()
      try pipeline.addHandler(HTTPExchange(request, until: deadline, promise: promise))
    }
    let result = await ProbeConnector.result(
      of: promise, over: connection, until: deadline + ProbeConnector.grace)
    connection.whenSuccess { $0.close(promise: nil) }
    return result
  }

  func channelActive(context: ChannelHandlerContext) {
    self.sent = self.clock.now()
    let address = self.request.address
    var head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: self.request.method), uri: address.target)
    head.headers.add(name: "Host", value: address.authority)
    head.headers.add(name: "User-Agent", value: "vidicon")
    head.headers.add(name: "Accept", value: "*/*")
    if self.request.isOfOtherOrigin { head.headers.add(name: "Origin", value: Self.origin) }
    head.headers.add(name: "Connection", value: "close")
    if let authorization = self.request.authorization {
      head.headers.add(name: "Authorization", value: authorization)
    }
    if let body = self.request.body {
      head.headers.add(name: "Content-Type", value: body.type)
      head.headers.add(name: "Content-Length", value: "\(body.bytes.readableBytes)")
    }
    context.write(self.wrapOutboundOut(.head(head)), promise: nil)
    if let body = self.request.body {
      context.write(self.wrapOutboundOut(.body(.byteBuffer(body.bytes))), promise: nil)
    }
    context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    self.setTimer(self.endTime, context)
    context.fireChannelActive()
  }

  private func setTimer(_ end: MediaTime, _ context: ChannelHandlerContext) {
    self.timer?.cancel()
    let delay = max(end - self.clock.now(), .zero)
    // Safe because handler and task share an event loop.
    self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
      self.succeed()
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // Players keep connections: their segments do not wait for handshakes.
    if case .handshakeCompleted? = event as? TLSUserEvent { self.sent = self.clock.now() }
    context.fireUserInboundEventTriggered(event)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.timer?.cancel()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let time = (self.clock.now() - self.sent).seconds
    switch self.unwrapInboundIn(data) {
    case .head(let head):
      // Informational ones precede the response.
      guard head.status.code >= 200 else { return }
      self.result = HTTPResult(status: Int(head.status.code), headTime: time)
      self.result?.headers = head.headers.map { HTTPResult.Header(name: $0.name.lowercased(), value: $0.value) }
      if let time = self.request.responseTime { self.setTimer(min(self.endTime, self.clock.now() + time), context) }
    case .body(let bytes):
      self.byteCount += bytes.readableBytes
      self.result?.pieces.append(.init(time: time, bytes: bytes))
      if self.byteCount >= self.request.maximumLength { self.succeed(.tooLong) }
    case .end: self.succeed(.complete)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.end(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.end(ConnectionFailure.closed)
    context.fireChannelInactive()
  }

  private func succeed(_ ending: HTTPResult.Ending = .cutOff) {
    guard var result = self.result else { return self.promise.fail(ConnectionFailure.noResponse) }
    result.ending = ending
    result.endTime = (self.clock.now() - self.sent).seconds
    self.promise.succeed(result)
  }

  /// Ends with what was received; without a response, with the reason.
  private func end(_ error: any Error) {
    if self.result != nil {
      self.succeed(.closed)
    } else {
      self.promise.fail(error is HTTPParserError ? ConnectionFailure.notHTTP : error)
    }
  }
}
