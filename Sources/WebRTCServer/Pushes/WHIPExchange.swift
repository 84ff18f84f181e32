internal import Authentication
internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import Serving
internal import WebRTC

/// One request of a push over HTTP/1.1, on a connection of its own, with its response. Used on its event loop only.
final class WHIPExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// The connection has ended before the response.
  private static let closed = PushFailure("the server has closed the connection")
  /// The response is not of HTTP, or longer than a session description may be.
  private static let noServer = PushFailure("no WHIP server there")

  /// Maximum length of a response's body, in bytes.
  private static let maximumLength = 64 << 10

  private let request: WHIPRequest
  private let promise: EventLoopPromise<WHIPResponse>
  private var response: WHIPResponse?

  private init(_ request: WHIPRequest, promise: EventLoopPromise<WHIPResponse>) {
    self.request = request
    self.promise = promise
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - isNamedByServer: Whether the URL has another origin than the target.
  ///   - timeout: Maximum time until the response is complete.
  static func send(
    _ request: WHIPRequest, over connector: PushConnector, isNamedByServer: Bool, timeout: MediaDuration
  ) -> EventLoopFuture<WHIPResponse> {
    let promise = connector.eventLoop.makePromise(of: WHIPResponse.self)
    let url = request.url
    let connection = connector.connect(
      to: url.host, port: url.port, isEncrypted: url.isEncrypted, isNamedByServer: isNamedByServer, timeout: timeout
    ) { channel in
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHTTPClientHandlers()
      try pipeline.addHandler(WHIPExchange(request, promise: promise))
    }
    connection.whenFailure { promise.fail($0) }
    let timer = connector.eventLoop.scheduleTask(in: .nanoseconds(timeout.nanoseconds)) {
      promise.fail(PushFailure("the server does not respond"))
    }
    promise.futureResult.whenComplete { _ in
      timer.cancel()
      connection.whenSuccess { $0.close(promise: nil) }
    }
    return promise.futureResult
  }

  func channelActive(context: ChannelHandlerContext) {
    var head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: self.request.method.rawValue), uri: self.request.url.target.text)
    head.headers.add(name: "Host", value: self.request.url.authority)
    head.headers.add(name: "User-Agent", value: "vidicon")
    head.headers.add(name: "Connection", value: "close")
    if let token = self.request.token { head.headers.add(name: "Authorization", value: "Bearer \(token.text)") }
    if let offer = self.request.offer {
      head.headers.add(name: "Accept", value: "application/sdp")
      head.headers.add(name: "Content-Type", value: "application/sdp")
      head.headers.add(name: "Content-Length", value: "\(offer.readableBytes)")
    }
    context.write(self.wrapOutboundOut(.head(head)), promise: nil)
    if let offer = self.request.offer { context.write(self.wrapOutboundOut(.body(.byteBuffer(offer))), promise: nil) }
    context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    context.fireChannelActive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch self.unwrapInboundIn(data) {
    case .head(let head):
      self.response = WHIPResponse(
        status: Int(head.status.code), location: head.headers.first(name: "Location"),
        retryAfter: head.headers.first(name: "Retry-After"))
    case .body(var bytes):
      self.response?.body.writeBuffer(&bytes)
      if let length = self.response?.body.readableBytes, length > Self.maximumLength {
        self.promise.fail(Self.noServer)
      }
    case .end:
      if let response { self.promise.succeed(response) } else { self.promise.fail(Self.closed) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.promise.fail(error is HTTPParserError ? Self.noServer : error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.promise.fail(Self.closed)
    context.fireChannelInactive()
  }
}
