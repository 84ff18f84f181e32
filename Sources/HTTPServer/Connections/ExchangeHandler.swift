internal import HTTPTypes
internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

/// Sees requests come and answers go, on an HTTP/1.1 connection or one stream of an HTTP/2 connection: tells the
/// connection when it has something to do, ends it when that is needed, and answers what the parser refuses.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let limits: HTTPServerLimits
  private let counters: HTTPCounters
  private var connection: ConnectionGuard?
  private var isMultiplexed = false
  private var openExchanges = 0
  /// Whether a request has begun to come and has not come whole.
  private var isWithinRequest = false
  private var bodyBytes = 0
  private var mostBodyBytes = 0
  /// The end of waiting for a body that somebody waits for.
  private var bodyDeadline: Scheduled<Void>?
  /// The answer to what is no request, while those that came before it wait for theirs.
  private var refusal: (status: HTTPResponse.Status, text: String)?
  private var isClosing = false
  private var unwritableSince: NIODeadline?

  init(limits: HTTPServerLimits, counters: HTTPCounters) {
    self.limits = limits
    self.counters = counters
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let own = context.pipeline.syncOperations
    if let connection = try? own.handler(type: ConnectionGuard.self) {
      self.connection = connection
      // HTTP/1.1: what its parts do not tell is seen before they are made.
      if let codec = try? own.handler(type: HTTP1ToHTTPServerCodec.self) {
        try? own.addHandler(HTTP1Handler(bodyBytes: self.limits.bodyBytes), position: .before(codec))
      }
    } else {
      self.isMultiplexed = true
      self.connection = try? context.channel.parent?.pipeline.syncOperations.handler(type: ConnectionGuard.self)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.endExchanges()
    self.bodyDeadline?.cancel()
    self.connection = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.endExchanges()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // What comes behind the last request counts for nothing.
    if self.isClosing || self.refusal != nil { return }
    switch self.unwrapInboundIn(data) {
    case .head(let request):
      self.openExchanges += 1
      self.isWithinRequest = true
      self.bodyBytes = 0
      self.mostBodyBytes = HTTPBodyLimits.most(
        method: request.method.rawValue, path: request.path ?? "", others: self.limits.bodyBytes)
      self.connection?.exchangeBegan(self.isMultiplexed ? self : nil, channel: context.channel)
      if (request.path?.utf8.count ?? 0) > self.limits.targetBytes {
        return self.refuse(context, .uriTooLong, "the path and query are longer than \(self.limits.targetBytes) bytes")
      }
      // Answers to others do not wait for what follows.
      if [.post, .put, .patch].contains(request.method) { self.limitBody(context) }
    case .body(let bytes):
      self.bodyBytes += bytes.readableBytes
      if self.bodyBytes > self.mostBodyBytes {
        return self.refuse(context, .contentTooLarge, "a body of more than \(self.mostBodyBytes) bytes")
      }
    case .end:
      self.isWithinRequest = false
      self.bodyDeadline?.cancel()
      self.bodyDeadline = nil
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if self.isClosing {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    context.write(data, promise: promise)
    if case .end = self.unwrapOutboundIn(data) {
      guard self.openExchanges > 0 else { return }
      self.openExchanges -= 1
      self.connection?.exchangeEnded(self.isMultiplexed ? self : nil)
      if let refusal { self.refuse(context, refusal.status, refusal.text) }
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.unwritableSince = context.channel.isWritable ? nil : .now()
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if self.isMultiplexed || self.isClosing { return context.fireErrorCaught(error) }
    switch error {
    // What follows a request that said it was the last one, RFC 9112 §9.6.
    case HTTPParserError.closedConnection: return
    case HTTPParserError.headerOverflow:
      self.refuse(context, .requestHeaderFieldsTooLarge, "the header fields are too large")
    case let error as RefusedRequest: self.refuse(context, error.status, error.reason)
    case is HTTPParserError: self.refuse(context, .badRequest, "that is not HTTP")
    case is ChannelError, is IOError: context.fireErrorCaught(error)
    default: self.refuse(context, .badRequest, "that is not HTTP")
    }
  }

  /// Whether the client has taken nothing for that long. HTTP/2 only: others are seen by their connection.
  func isStalled(at now: NIODeadline, limit: TimeAmount) -> Bool {
    self.unwritableSince.map { now - $0 >= limit } ?? false
  }

  /// Answers what is not handed on, behind the answers to the requests that came whole before it, and lets go of the
  /// client.
  private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ text: String) {
    guard !self.isClosing else { return }
    guard self.openExchanges <= (self.isWithinRequest ? 1 : 0) else {
      self.refusal = self.refusal ?? (status, text)
      return
    }
    self.isClosing = true
    self.counters.count(status)
    var fields: HTTPFields = [.contentType: "text/plain; charset=utf-8", .server: HTTPAnswer.serverName]
    let body = ByteBuffer(string: text + "\n")
    fields[.contentLength] = String(body.readableBytes)
    fields[.cacheControl] = "no-store"
    fields[.accessControlAllowOrigin] = "*"
    if !self.isMultiplexed { fields[.connection] = "close" }
    context.write(self.wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))), promise: nil)
    context.write(self.wrapOutboundOut(.body(body)), promise: nil)
    context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    if self.isMultiplexed {
      context.close(promise: nil)
    } else {
      self.connection?.closeSoon()
      context.close(mode: .output, promise: nil)
    }
  }

  /// Lets go of a client whose body does not come to its end.
  private func limitBody(_ context: ChannelHandlerContext) {
    self.bodyDeadline?.cancel()
    self.bodyDeadline = context.eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(self.limits.bodyTime.nanoseconds)
    ) {
      self.refuse(context, .requestTimeout, "the body has not come in time")
    }
  }

  private func endExchanges() {
    while self.openExchanges > 0 {
      self.openExchanges -= 1
      self.connection?.exchangeEnded(self.isMultiplexed ? self : nil)
    }
  }
}
