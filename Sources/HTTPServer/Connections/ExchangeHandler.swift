internal import Authentication
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import Serving

/// Tracks requests and responses of an HTTP/1.1 connection or one HTTP/2 stream: reports them to ``ConnectionGuard``,
/// enforces the limits of target and body, and responds to requests that the parser rejects.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let limits: HTTPServerLimits
  private let counters: HTTPCounters
  private let isSecure: Bool
  private let application: any HTTPApplication
  /// The head of a GET whose end has not arrived: most need no task. It is not counted among the open requests.
  private var heldHead: HTTPRequest?
  /// Addresses of the connection; nil before the first request that needs them.
  private var client: HTTPClient?
  private var connection: ConnectionGuard?
  /// Handlers of an HTTP/1 connection that are nearer to the client; nil for HTTP/2.
  private var http1: (handler: HTTP1Handler, encoder: ChannelHandlerContext)?
  /// Entry of an HTTP/2 stream in the table of connections; nil for the only stream of its connection.
  private var registration: ConnectionRegistry.Registration?
  private var isMultiplexed = false
  private var openExchanges = 0
  /// Whether a request head has been received and the end of its body has not.
  private var isWithinRequest = false
  /// Use of the connection for the response being sent; nil unless the response has no end of its own.
  private var endless: ConnectionTable.Use?
  private var bodyBytes = 0
  private var maximumBodyBytes = 0
  /// Timeout of the body being received.
  private var bodyDeadline: Scheduled<Void>?
  /// Response to a rejected request, pending until earlier requests have been answered.
  private var refusal: (status: HTTPResponse.Status, text: String)?
  private var isClosing = false
  private var unwritableSince: NIODeadline?
  /// Time at which the end of an HTTP/2 response was written; nil before, and once it is sent.
  private var unsentSince: NIODeadline?
  /// The rest of a body of HTTP/2 that is written slice by slice, with the content in it that may be discarded.
  private var rest: (bytes: ByteBuffer, transfer: DiscardableTransfers.Transfer?)?
  /// Whether slices are being written, which may change the stream's writability.
  private var isWritingSlices = false

  init(
    limits: HTTPServerLimits, counters: HTTPCounters, isSecure: Bool = false, application: any HTTPApplication
  ) {
    self.limits = limits
    self.counters = counters
    self.isSecure = isSecure
    self.application = application
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let own = context.pipeline.syncOperations
    if let connection = try? own.handler(type: ConnectionGuard.self) {
      self.connection = connection
      // HTTP/1.1: version and `Connection` are visible only before the conversion to HTTPTypes.
      if let codec = try? own.handler(type: HTTP1ToHTTPServerCodec.self) {
        let handler = HTTP1Handler(bodyBytes: self.limits.bodyBytes, application: self.application)
        // Fails on a closed channel only.
        if (try? own.addHandlers([handler, HTTP1Codec()], position: .before(codec))) != nil {
          own.removeHandler(codec, promise: nil)
          self.http1 = (try? own.context(handlerType: HTTPResponseEncoder.self)).map { (handler, $0) }
        }
      }
    } else {
      self.isMultiplexed = true
      self.connection = try? context.channel.parent?.pipeline.syncOperations.handler(type: ConnectionGuard.self)
      self.connection?.streamOpened()
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.endExchanges(on: context.channel)
    self.bodyDeadline?.cancel()
    self.registration?.remove()
    if self.isMultiplexed { self.connection?.streamClosed() }
    self.connection = nil
    self.http1 = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.endExchanges(on: context.channel)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // Ignored: bytes after the last request.
    if self.isClosing || self.refusal != nil { return }
    switch self.unwrapInboundIn(data) {
    case .head(let request):
      self.isWithinRequest = true
      self.bodyBytes = 0
      // Of one without a body the end follows at once. A response that is being sent comes first.
      if request.method == .get, self.openExchanges == 0, !request.hasBody, !self.isTooLong(request) {
        self.heldHead = request
        return
      }
      guard self.begin(request, context) else { return }
    case .body(let bytes):
      // HTTP/2 does not announce bodies.
      guard self.forwardHeldHead(context) else { return }
      self.bodyBytes += bytes.readableBytes
      if self.bodyBytes > self.maximumBodyBytes {
        return self.refuse(context, .contentTooLarge, "the body is longer than \(self.maximumBodyBytes) bytes")
      }
    case .end:
      if let request = self.heldHead, self.isAnswered(request, context) {
        self.isWithinRequest = false
        return
      }
      guard self.forwardHeldHead(context) else { return }
      self.isWithinRequest = false
      self.bodyDeadline?.cancel()
      self.bodyDeadline = nil
    }
    context.fireChannelRead(data)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    _ = self.forwardHeldHead(context)
    context.fireChannelReadComplete()
  }

  private func isTooLong(_ request: HTTPRequest) -> Bool {
    request.path?.utf8.count ?? 0 > self.limits.targetBytes
  }

  /// Counts a request among the open ones.
  ///
  /// - Returns: False when it is refused.
  private func begin(_ request: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
    self.openExchanges += 1
    let readsBody = [.post, .put, .patch].contains(request.method)
    self.maximumBodyBytes =
      readsBody
      ? self.application.maximumBodyBytes(
        method: request.method.rawValue, path: request.path ?? "", default: self.limits.bodyBytes)
      : self.limits.bodyBytes
    self.connection?.exchangeBegan(self.isMultiplexed ? self : nil, channel: context.channel)
    self.connection?.countClient(of: request)
    if self.isMultiplexed, self.registration == nil {
      do throws(RefusedRequest) {
        self.registration = try self.connection?.registerStream(context.channel)
      } catch {
        self.refuse(context, error.status, error.reason)
        return false
      }
    }
    if self.isTooLong(request) {
      self.refuse(context, .uriTooLong, "the path and query are longer than \(self.limits.targetBytes) bytes")
      return false
    }
    // Responses to other methods do not wait for the body.
    if readsBody { self.limitBody(context) }
    return true
  }

  /// Forwards the held head, if any, to the task of the connection or stream.
  ///
  /// - Returns: False when its request is refused.
  private func forwardHeldHead(_ context: ChannelHandlerContext) -> Bool {
    guard let request = self.heldHead.take() else { return true }
    guard self.begin(request, context) else { return false }
    context.fireChannelRead(self.wrapInboundOut(.head(request)))
    return true
  }

  /// Responds to the held request, unless a task has to: then its head may still be held.
  ///
  /// - Returns: Whether it is answered, or refused.
  private func isAnswered(_ request: HTTPRequest, _ context: ChannelHandlerContext) -> Bool {
    // Responses that the client does not read must not pile up: tasks wait for it.
    guard context.channel.isWritable else { return false }
    let client = self.client ?? HTTPClient(context.channel, isSecure: self.isSecure)
    self.client = client
    guard self.isMultiplexed else {
      guard let response = self.application.respondAtOnce(to: request, client: client) else { return false }
      self.heldHead = nil
      self.connection?.countClient(of: request)
      self.writeAtOnce(response, context)
      return true
    }
    self.heldHead = nil
    // The exchange is open while its bytes wait for the client's window.
    guard self.begin(request, context) else { return true }
    guard let response = self.application.respondAtOnce(to: request, client: client) else {
      context.fireChannelRead(self.wrapInboundOut(.head(request)))
      return false
    }
    self.write(response, context)
    return true
  }

  /// Writes a response of HTTP/1 whose body, if any, is bytes.
  private func writeAtOnce(_ response: ServerResponse, _ context: ChannelHandlerContext) {
    let channel = context.channel
    do throws(DiscardableTransfers.Discarded) {
      try response.transfer?.beginAtOnce(on: channel)
    } catch {
      // The client requests the file again, and learns that it is gone.
      return context.close(promise: nil)
    }
    if let head = response.serializedHead, case .bytes(let body) = response.body, let http1,
      http1.handler.endOnlyRequest()
    {
      // The encoder keeps nothing of a response for the next one.
      http1.encoder.write(NIOAny(head), promise: nil)
      http1.encoder.write(NIOAny(body), promise: nil)
      http1.encoder.flush()
    } else {
      self.writeParts(of: response) { context.write($0, promise: nil) }
      context.flush()
    }
    guard let connection = self.connection else { return }
    response.transfer?.noteWritten(by: connection)
    connection.exchangeAnswered(on: channel)
  }

  /// Writes a response of HTTP/2 whose body, if any, is bytes.
  private func write(_ response: ServerResponse, _ context: ChannelHandlerContext) {
    let channel = context.channel
    do throws(DiscardableTransfers.Discarded) {
      try response.transfer?.begin(on: channel)
    } catch {
      // The client requests the file again, and learns that it is gone.
      return context.close(promise: nil)
    }
    if case .bytes(let bytes) = response.body, bytes.readableBytes > ServerResponse.multiplexedSlice {
      self.write(context: context, data: self.wrapOutboundOut(.head(response.head)), promise: nil)
      self.rest = (bytes, response.transfer)
      return self.writeSlices(context)
    }
    self.writeParts(of: response) { self.write(context: context, data: $0, promise: nil) }
    context.flush()
    response.transfer?.end(on: channel)
  }

  /// Writes slices of the body while the client's window and the connection have room for them.
  private func writeSlices(_ context: ChannelHandlerContext) {
    guard !self.isWritingSlices else { return }
    self.isWritingSlices = true
    defer { self.isWritingSlices = false }
    while context.channel.isWritable, let length = self.rest?.bytes.readableBytes, length > 0,
      let slice = self.rest?.bytes.readSlice(length: min(length, ServerResponse.multiplexedSlice))
    {
      self.write(context: context, data: self.wrapOutboundOut(.body(slice)), promise: nil)
      context.flush()
    }
    guard let rest, rest.bytes.readableBytes == 0 else { return }
    self.rest = nil
    self.write(context: context, data: self.wrapOutboundOut(.end(nil)), promise: nil)
    context.flush()
    rest.transfer?.end(on: context.channel)
  }

  private func writeParts(of response: ServerResponse, _ write: (NIOAny) -> Void) {
    write(self.wrapOutboundOut(.head(response.head)))
    if case .bytes(let bytes) = response.body { write(self.wrapOutboundOut(.body(bytes))) }
    write(self.wrapOutboundOut(.end(nil)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if self.isClosing {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    let part = self.unwrapOutboundIn(data)
    if case .head(let response) = part, self.endless == nil, let use = ConnectionTable.Use(endless: response) {
      guard self.connection?.responseIsEndless(use) ?? true else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return self.reject(context, .tooManyRequests, "this connection has too many streams of events and images")
      }
      self.endless = use
      self.registration?.setUse(use)
    }
    guard case .end = part else { return context.write(data, promise: promise) }
    guard self.isMultiplexed else {
      context.write(data, promise: promise)
      guard self.openExchanges > 0 else { return }
      self.endExchange()
      if let refusal { self.refuse(context, refusal.status, refusal.text) }
      return
    }
    // Bytes beyond the client's window wait in this machine's memory: the response ends when they are sent.
    self.unsentSince = .now()
    let written = promise ?? context.eventLoop.makePromise()
    written.futureResult.assumeIsolated().whenComplete { _ in
      self.unsentSince = nil
      guard self.openExchanges > 0 else { return }
      self.endExchange()
      // The client may keep its side of the stream open.
      self.registration?.setUse(.idle)
    }
    context.write(data, promise: written)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.unwritableSince = context.channel.isWritable ? nil : .now()
    self.writeSlices(context)
    context.fireChannelWritabilityChanged()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if self.isMultiplexed || self.isClosing { return context.fireErrorCaught(error) }
    switch error {
    // Data after a request with `Connection: close`, RFC 9112 §9.6.
    case HTTPParserError.closedConnection: return
    case HTTPParserError.headerOverflow:
      self.refuse(context, .requestHeaderFieldsTooLarge, "the header fields are too large")
    case let error as RefusedRequest: self.refuse(context, error.status, error.reason)
    case is HTTPParserError: self.refuse(context, .badRequest, "malformed HTTP")
    case is ChannelError, is IOError: context.fireErrorCaught(error)
    default: self.refuse(context, .badRequest, "malformed HTTP")
    }
  }

  /// Whether a response has its end, and waits for the client's window. HTTP/2 only.
  var isUnsent: Bool { self.unsentSince != nil }

  /// Whether the stream has been unwritable, or its end unsent, for `limit`. HTTP/2 only: ``ConnectionGuard`` detects it for
  /// HTTP/1.1.
  func isStalled(at now: NIODeadline, limit: TimeAmount) -> Bool {
    [self.unwritableSince, self.unsentSince].contains { $0.map { now - $0 >= limit } ?? false }
  }

  /// Responds with an error after the responses to earlier requests, and closes the connection or stream.
  private func refuse(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ text: String) {
    guard !self.isClosing else { return }
    guard self.openExchanges <= (self.isWithinRequest ? 1 : 0) else {
      self.refusal = self.refusal ?? (status, text)
      return
    }
    self.reject(context, status, text)
  }

  /// Responds with an error, and closes the connection or stream.
  private func reject(_ context: ChannelHandlerContext, _ status: HTTPResponse.Status, _ text: String) {
    self.isClosing = true
    self.heldHead = nil
    self.counters.count(status)
    if HTTPRefusal.malformedStatuses.contains(status) { self.connection?.refusals.count(.malformed) }
    var fields: HTTPFields = [.contentType: "text/plain; charset=utf-8", .server: ServerResponse.serverName]
    let body = ByteBuffer(string: text + "\n")
    fields[.contentLength] = String(body.readableBytes)
    fields[.cacheControl] = "no-store"
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

  /// Starts the timeout of the body.
  private func limitBody(_ context: ChannelHandlerContext) {
    self.bodyDeadline?.cancel()
    self.bodyDeadline = context.eventLoop.assumeIsolated().scheduleTask(
      in: .nanoseconds(self.limits.bodyTime.nanoseconds)
    ) {
      self.refuse(context, .requestTimeout, "the body did not arrive in time")
    }
  }

  private func endExchanges(on channel: any Channel) {
    self.rest.take()?.transfer?.end(on: channel)
    while self.openExchanges > 0 { self.endExchange() }
  }

  private func endExchange() {
    self.openExchanges -= 1
    self.connection?.exchangeEnded(self.isMultiplexed ? self : nil, endless: self.endless.take())
  }
}

extension ConnectionTable.Use {
  /// The use of a connection whose response has no end of its own: events and motion JPEG; nil for other
  /// responses.
  init?(endless response: HTTPResponse) {
    guard response.status == .ok, let type = response.headerFields[.contentType] else { return nil }
    if type.hasPrefix(EndlessMediaType.events) {
      self = .events
    } else if type.hasPrefix(EndlessMediaType.replacedParts) {
      self = .motionJPEG
    } else {
      return nil
    }
  }
}

extension HTTPRequest {
  /// Whether its head announces a body.
  var hasBody: Bool {
    self.headerFields[.transferEncoding] != nil || (self.headerFields[.contentLength] ?? "0") != "0"
  }
}
