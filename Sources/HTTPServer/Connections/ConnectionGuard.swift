internal import Authentication
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Serving

/// First handler of a connection, before TLS: registers it with its event loop's ``ConnectionLoop`` and detects clients
/// that are too slow to send a request or to read a response.
final class ConnectionGuard: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The connection's entry in the table of all connections; nil before it is registered.
  var registration: ConnectionRegistry.Registration?
  /// Current use of the connection, by which the table chooses connections to close.
  private(set) var use = ConnectionTable.Use.unused
  /// Time since which no request is open.
  private var idleSince = NIODeadline.now()
  /// Last time that the table was notified of a request that was answered at once.
  private var noticeTime = NIODeadline.now()
  private let loop: ConnectionLoop
  private var context: ChannelHandlerContext?
  /// Network of the client that a known proxy named last; nil without one.
  private var clientNetwork: IPAddress?
  /// Open HTTP/2 streams.
  private var streamCount = 0
  /// Requests whose responses are not finished.
  private var openExchanges = 0
  /// Number of open responses that have no end of their own, by their use.
  private var endless: [ConnectionTable.Use: Int] = [:]
  /// HTTP/2 streams whose responses are not finished.
  private var exchanges: [ObjectIdentifier: (handler: ExchangeHandler, channel: any Channel)] = [:]
  /// Whether this is HTTP/2, where received bytes (such as PING) need not belong to a request.
  private var isMultiplexed = false
  /// Arrival of the first byte of an incomplete request head.
  private var partialSince: NIODeadline?
  private var bytesWritten = 0
  private var bytesSent = 0
  /// Last time that the client read bytes, or that no bytes were waiting.
  private var progressTime = NIODeadline.now()
  /// Deadline of the client to close after the last response.
  private var closeDeadline: NIODeadline?
  /// Value of ``bytesWritten`` at the end of the last response with content that may be discarded, by its origin.
  private var contentEnds: [ObjectIdentifier: Int] = [:]

  /// Refusals of all servers.
  var refusals: RefusalCounters { self.loop.registry.refusals }

  init(loop: ConnectionLoop) {
    self.loop = loop
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.loop.remove(self)
    self.context = nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.loop.remove(self)
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if self.openExchanges == 0, self.partialSince == nil { self.partialSince = .now() }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    self.bytesWritten += self.unwrapOutboundIn(data).readableBytes
    context.write(data, promise: promise)
  }

  /// Called for each complete request head.
  ///
  /// - Parameter exchange: Handler of the HTTP/2 stream; nil for HTTP/1.
  func exchangeBegan(_ exchange: ExchangeHandler?, channel: any Channel) {
    if let exchange {
      self.isMultiplexed = true
      self.exchanges[ObjectIdentifier(exchange)] = (exchange, channel)
    }
    self.partialSince = nil
    self.openExchanges += 1
    self.updateUse()
  }

  /// Counts the connection for the client of a request, where the connection is a known proxy's.
  func countClient(of request: HTTPRequest) {
    guard !self.loop.proxies.isEmpty, let address = self.context?.channel.remoteAddress?.ipAddress else { return }
    let client = HTTPClient(address: address).effectiveAddress(of: request, proxies: self.loop.proxies)
    self.clientNetwork = IPAddress(parsing: client)?.network
    self.registration?.setNetwork(self.clientNetwork)
  }

  /// Called when an HTTP/2 stream opens; its end is reported by ``streamClosed()``.
  func streamOpened() { self.streamCount += 1 }

  /// Called when an HTTP/2 stream is closed.
  func streamClosed() { self.streamCount -= 1 }

  /// Registers the stream of a request like a connection, unless it is the only one of its connection.
  ///
  /// - Returns: nil for the only stream.
  /// - Throws: Where too many connections and streams are open.
  func registerStream(_ stream: any Channel) throws(RefusedRequest) -> ConnectionRegistry.Registration? {
    guard self.streamCount > 1 else { return nil }
    let network = self.clientNetwork ?? IPAddress.network(of: self.context?.channel.remoteAddress)
    let registration = self.loop.registry.register(from: network, isStream: true) { stream.close(promise: nil) }
    guard let registration else {
      throw RefusedRequest(status: .serviceUnavailable, reason: "too many requests and connections are open")
    }
    registration.setUse(.request)
    return registration
  }

  /// Called when a response is written, or its channel is closed.
  ///
  /// - Parameter endless: The argument of ``responseIsEndless(_:)`` for this response; nil for others.
  func exchangeEnded(_ exchange: ExchangeHandler?, endless: ConnectionTable.Use?) {
    if let exchange { self.exchanges[ObjectIdentifier(exchange)] = nil }
    self.openExchanges -= 1
    if let endless { self.endless[endless, default: 1] -= 1 }
    if self.openExchanges == 0 {
      self.idleSince = .now()
      self.partialSince = nil
    }
    self.updateUse()
  }

  /// Called when a request of HTTP/1 was answered in the turn of the event loop in which it arrived.
  ///
  /// The table of all connections has one lock for all event loops. It is notified at most once a second: its order of idle
  /// connections is as precise as that.
  func exchangeAnswered(on channel: any Channel) {
    let now = NIODeadline.now()
    guard self.use != .idle || now - self.noticeTime >= .seconds(1) else {
      (self.partialSince, self.idleSince) = (nil, now)
      return
    }
    self.noticeTime = now
    self.exchangeBegan(nil, channel: channel)
    self.exchangeEnded(nil, endless: nil)
  }

  /// Called when an open response turns out to have no end of its own: events or motion JPEG.
  ///
  /// - Returns: Whether it may be sent; false when an HTTP/2 connection has too many.
  func responseIsEndless(_ use: ConnectionTable.Use) -> Bool {
    if self.isMultiplexed, self.endless.values.reduce(0, +) >= self.loop.limits.endlessResponses {
      self.refusals.count(.overLimit)
      return false
    }
    self.endless[use, default: 0] += 1
    self.updateUse()
    return true
  }

  private func updateUse() {
    let use: ConnectionTable.Use
    let endless = self.endless.values.reduce(0, +)
    if self.openExchanges == 0 {
      use = .idle
    } else if endless == 0 || (self.isMultiplexed && self.openExchanges > endless) {
      use = .request
    } else {
      // Requests behind an endless response of HTTP/1.1 are never answered.
      use = self.endless[.motionJPEG, default: 0] > 0 ? .motionJPEG : .events
    }
    guard use != self.use else { return }
    self.loop.willChange(self, to: use)
    self.use = use
  }

  /// Closes the connection in 2 seconds, unless the client has closed it: the last response is written.
  func closeSoon() {
    self.closeDeadline = .now() + .seconds(2)
  }

  func close() {
    self.context?.close(promise: nil)
  }

  /// Called when a response with content that may be discarded is written.
  func contentWritten(of transfers: DiscardableTransfers) {
    self.contentEnds[ObjectIdentifier(transfers)] = self.bytesWritten
  }

  /// Resets the connection, unless the client has received all content of an origin.
  ///
  /// - Parameter isBeingWritten: Whether a response with such content was not written to its end.
  func discardContent(of transfers: DiscardableTransfers, isBeingWritten: Bool) {
    let end = self.contentEnds.removeValue(forKey: ObjectIdentifier(transfers))
    // HTTP/2 holds what exceeds the client's window in front of this handler.
    let isHeld = end != nil && self.exchanges.values.contains { $0.handler.isUnsent }
    guard let context, isBeingWritten || isHeld || self.bytesWritten - self.unsentByteCount < end ?? 0 else { return }
    _ = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      TCPSocket.discardUnsent(of: $0)
    }
    context.close(promise: nil)
  }

  /// Bytes that the client has not acknowledged: those of the channel and of the system.
  private var unsentByteCount: Int {
    guard let context else { return 0 }
    let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    let inSystem = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      TCPSocket.unsentByteCount(of: $0)
    }
    return buffered + (inSystem ?? 0)
  }

  /// Whether a time limit is exceeded. Closes HTTP/2 streams that are stalled.
  func isOverdue(at now: NIODeadline) -> Bool {
    let limits = self.loop.limits
    let stallTime = TimeAmount.nanoseconds(limits.stallTime.nanoseconds)
    if self.isStalled(at: now, limit: stallTime) {
      self.refusals.count(.slowViewer)
      return true
    }
    // Copied: a closed stream removes itself.
    for exchange in Array(self.exchanges.values) where exchange.handler.isStalled(at: now, limit: stallTime) {
      self.refusals.count(.slowViewer)
      exchange.channel.close(promise: nil)
    }
    if let closeDeadline = self.closeDeadline { return now >= closeDeadline }
    guard self.openExchanges == 0 else { return false }
    if !self.isMultiplexed, let partialSince = self.partialSince {
      return now - partialSince >= .nanoseconds(limits.headTime.nanoseconds)
    }
    let idleTime = self.use == .unused ? limits.headTime : limits.idleTime
    return now - self.idleSince >= .nanoseconds(idleTime.nanoseconds)
  }

  /// Whether bytes have waited for `limit` without the client reading any.
  private func isStalled(at now: NIODeadline, limit: TimeAmount) -> Bool {
    if self.bytesWritten == self.bytesSent {
      // All bytes that were written have been sent.
      self.progressTime = now
      return false
    }
    // Every socket channel has this option.
    let waiting = (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    let sent = self.bytesWritten - waiting
    if waiting == 0 || sent != self.bytesSent { self.progressTime = now }
    self.bytesSent = sent
    return now - self.progressTime >= limit
  }
}
