internal import Authentication
internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import WebRTC

/// One request of a push over HTTP/1.1, on a connection of its own, with its response. Used on its event loop only.
final class WHIPExchange: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  /// Reason for a missing response.
  enum Failure: Error {
    /// The server has not responded in time.
    case timeout
    /// The connection has ended before the response.
    case closed
    /// The response is longer than a session description may be.
    case tooLarge
  }

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
  ///   - tls: The context of an encrypted URL; nil for another.
  ///   - timeout: Maximum time until the response is complete.
  static func send(
    _ request: WHIPRequest, on eventLoop: any EventLoop, tls: NIOSSLContext?, timeout: MediaDuration,
    allowsLinkLocal: Bool
  ) -> EventLoopFuture<WHIPResponse> {
    let promise = eventLoop.makePromise(of: WHIPResponse.self)
    let url = request.url
    let bootstrap = ClientBootstrap(group: eventLoop)
      .connectTimeout(.nanoseconds(timeout.nanoseconds))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if !allowsLinkLocal { try pipeline.addHandler(LinkLocalGuard()) }
          if let tls {
            // An IP address is verified as such, and has no place in SNI (RFC 6066 §3).
            let name = IPAddress(parsing: url.host) == nil ? url.host : nil
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
          }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(WHIPExchange(request, promise: promise))
        }
      }
    let connection = bootstrap.connect(host: url.host, port: Int(url.port))
    connection.whenFailure { promise.fail($0) }
    let timer = eventLoop.scheduleTask(in: .nanoseconds(timeout.nanoseconds)) { promise.fail(Failure.timeout) }
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
        self.promise.fail(Failure.tooLarge)
      }
    case .end:
      if let response { self.promise.succeed(response) } else { self.promise.fail(Failure.closed) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { self.promise.fail(error) }

  func channelInactive(context: ChannelHandlerContext) {
    self.promise.fail(Failure.closed)
    context.fireChannelInactive()
  }
}
