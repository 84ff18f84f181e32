internal import Media
internal import NIOCore

/// The first handler of a connection, before TLS: keeps it in the list of its event loop, and knows whether the client
/// takes too long to send a request or to read an answer.
final class ConnectionGuard: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  // The neighbours in `IdleConnections`, which alone changes them.
  var nextIdle: ConnectionGuard?
  var previousIdle: ConnectionGuard?
  var isListedIdle = false

  /// Whether a request has come here.
  private(set) var hasAsked = false
  /// Since when there is none to answer.
  private(set) var idleSince = NIODeadline.now()
  private let loop: ConnectionLoop
  private var context: ChannelHandlerContext?
  /// Requests whose answers are not finished.
  private var openExchanges = 0
  /// The streams of an HTTP/2 connection that have no answer yet.
  private var exchanges: [ObjectIdentifier: (handler: ExchangeHandler, channel: any Channel)] = [:]
  /// Whether requests come several at a time, between signs of life that are none (HTTP/2).
  private var isMultiplexed = false
  /// When the first byte came that belongs to no whole request.
  private var partialSince: NIODeadline?
  private var bytesWritten = 0
  private var bytesTaken = 0
  /// When the client last took something, or there was nothing to take.
  private var progressTime = NIODeadline.now()
  /// When a connection that was told to close must be closed.
  private var closeDeadline: NIODeadline?

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

  /// A whole request head has come.
  ///
  /// - Parameter exchange: Of HTTP/2 the stream that it came on.
  func exchangeBegan(_ exchange: ExchangeHandler?, channel: any Channel) {
    if let exchange {
      self.isMultiplexed = true
      self.exchanges[ObjectIdentifier(exchange)] = (exchange, channel)
    }
    self.partialSince = nil
    self.openExchanges += 1
    if self.openExchanges == 1 { self.loop.setIdle(self, false) }
    self.hasAsked = true
  }

  /// An answer is written, or will never be.
  func exchangeEnded(_ exchange: ExchangeHandler?) {
    if let exchange { self.exchanges[ObjectIdentifier(exchange)] = nil }
    self.openExchanges -= 1
    guard self.openExchanges == 0 else { return }
    self.idleSince = .now()
    self.partialSince = nil
    self.loop.setIdle(self, true)
  }

  /// The last answer has been written: the client has a moment to take it and to close.
  func closeSoon() {
    self.closeDeadline = .now() + .seconds(2)
  }

  func close() {
    self.context?.close(promise: nil)
  }

  /// Whether a time limit has passed.
  func isOverdue(at now: NIODeadline) -> Bool {
    let limits = self.loop.limits
    let stallTime = TimeAmount.nanoseconds(limits.stallTime.nanoseconds)
    if self.isStalled(at: now, limit: stallTime) { return true }
    for exchange in Array(self.exchanges.values) where exchange.handler.isStalled(at: now, limit: stallTime) {
      exchange.channel.close(promise: nil)
    }
    if let closeDeadline = self.closeDeadline { return now >= closeDeadline }
    guard self.openExchanges == 0 else { return false }
    if !self.isMultiplexed, let partialSince = self.partialSince {
      return now - partialSince >= .nanoseconds(limits.headTime.nanoseconds)
    }
    return now - self.idleSince >= .nanoseconds(limits.idleTime.nanoseconds)
  }

  /// Whether bytes have waited for the client that long without one being taken.
  private func isStalled(at now: NIODeadline, limit: TimeAmount) -> Bool {
    // The option is one of every socket channel; without it nothing waits.
    let waiting = (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    let taken = self.bytesWritten - waiting
    if waiting == 0 || taken != self.bytesTaken { self.progressTime = now }
    self.bytesTaken = taken
    return now - self.progressTime >= limit
  }
}
