internal import Authentication
internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import NIOTLS
internal import RTMP
internal import Serving
internal import Threading

/// One connection of a push to a server: performs what ``RTMPClientSession`` decides. Used on its event loop only.
final class RTMPPushHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// An event of the connection.
  enum Event {
    /// The server waits for media.
    case accepted
    /// The server asks for a new connection, at another URL if it names one.
    case reconnectRequested(url: String?)
    /// The connection has ended, or was never made; once, and last. With the URL to which the server redirects.
    case ended(String, redirect: String? = nil)
    /// The connection has ended since the server wants a user and password; once, and last. With the answer to it.
    case authenticationRequested(Secret)
  }

  private let url: RTMPURL
  private let timeout: MediaDuration
  private var session: RTMPClientSession
  /// Whether the session has begun: TCP is connected, and TLS complete.
  private var isStarted = false
  private var context: ChannelHandlerContext?
  private var timer: Scheduled<Void>?
  /// Bytes of responses to the server that the system has not taken.
  private var unsentResponseByteCount = 0
  /// Whether a read waits until responses have left.
  private var isReadHeld = false
  private let clock = StreamClock.system
  /// Nil once the connection has ended.
  private var report: ((Event) -> Void)?

  /// Maximum bytes of responses that wait: a server that asks for more than it reads is not read from.
  private static let maximumUnsentResponses = 64 << 10

  /// - Parameters:
  ///   - timeout: Maximum time of TLS, and of each step of the session.
  ///   - report: Called with each event, on the event loop.
  init(url: RTMPURL, timeout: MediaDuration, report: @escaping (Event) -> Void) {
    self.url = url
    self.timeout = timeout
    self.report = report
    self.session = Self.session(url, timeout: timeout)
  }

  private static func session(_ url: RTMPURL, timeout: MediaDuration) -> RTMPClientSession {
    RTMPClientSession(
      url: url, purpose: .publish, timeout: timeout, now: StreamClock.system.now(),
      makeRandom: { .random(in: 0...UInt64.max) })
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive { self.connected(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    self.timer?.cancel()
  }

  func channelActive(context: ChannelHandlerContext) {
    self.connected(context)
    context.fireChannelActive()
  }

  private func connected(_ context: ChannelHandlerContext) {
    // The time of its first step begins now.
    self.session = Self.session(self.url, timeout: self.timeout)
    self.scheduleTimer()
    if !self.url.isEncrypted { self.start() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { self.start() }
    context.fireUserInboundEventTriggered(event)
  }

  private func start() {
    self.isStarted = true
    self.perform(self.session.start(now: self.clock.now()))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.perform(self.session.receive(self.unwrapInboundIn(data), now: self.clock.now()))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.end(PushFailure.text(of: error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    // Some servers close instead of refusing: the step says what was refused.
    self.perform(self.session.handleDisconnected())
    context.fireChannelInactive()
  }

  private func perform(_ actions: [RTMPClientSession.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): self.respond(bytes)
      case .started: self.report?(.accepted)
      case .media: break
      case .reconnect(let url): self.report?(.reconnectRequested(url: url))
      case .close(let failure):
        if let answer = failure.authentication { return self.end(.authenticationRequested(answer)) }
        self.end(
          self.isStarted ? PushFailure.text(of: failure) : "the server does not complete the TLS handshake",
          redirect: failure.redirect)
      }
    }
    self.scheduleTimer()
  }

  private func respond(_ bytes: ByteBuffer) {
    guard let context else { return }
    let count = bytes.readableBytes
    self.unsentResponseByteCount += count
    context.writeAndFlush(self.wrapOutboundOut(bytes)).assumeIsolated().whenComplete { _ in
      self.unsentResponseByteCount -= count
      guard self.isReadHeld, let context = self.context else { return }
      self.read(context: context)
    }
  }

  func read(context: ChannelHandlerContext) {
    self.isReadHeld = self.unsentResponseByteCount > Self.maximumUnsentResponses
    if !self.isReadHeld { context.read() }
  }

  private func scheduleTimer() {
    self.timer?.cancel()
    self.timer = nil
    guard self.report != nil, let context, let deadline = self.session.nextDeadline else { return }
    let delay = max(deadline - self.clock.now(), .zero)
    // Safe because handler and task share an event loop.
    self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
      self.perform(self.session.handleTimer(now: self.clock.now()))
    }
  }

  private func end(_ reason: String, redirect: String? = nil) {
    self.end(.ended(reason, redirect: redirect))
  }

  private func end(_ event: Event) {
    let report = self.report.take()
    self.timer?.cancel()
    self.context?.close(promise: nil)
    report?(event)
  }

  /// Appends a message to bytes for ``send(_:)``; without effect unless the server has accepted.
  func write(_ message: RTMPMessage, into buffer: inout ByteBuffer) {
    self.session.write(message, into: &buffer)
  }

  /// Sends bytes.
  func send(_ buffer: ByteBuffer) {
    self.context?.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
  }

  /// Ends the stream at the server, so that it releases its name, and closes the connection, without an event.
  func finish() {
    self.report = nil
    self.timer?.cancel()
    guard let context else { return }
    var goodbye = ByteBuffer()
    for case .send(var bytes) in self.session.finish() { goodbye.writeBuffer(&bytes) }
    guard goodbye.readableBytes > 0 else { return context.close(promise: nil) }
    let channel = context.channel
    context.writeAndFlush(self.wrapOutboundOut(goodbye)).whenComplete { _ in channel.close(promise: nil) }
    // A link that takes nothing any more does not keep the connection.
    context.eventLoop.scheduleTask(in: .milliseconds(500)) { channel.close(promise: nil) }
  }

  /// Closes the connection without sending what it holds, and without an event.
  func abort() {
    self.report = nil
    self.timer?.cancel()
    guard let context else { return }
    _ = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      TCPSocket.discardUnsent(of: $0)
    }
    // TLS would send what it holds before its end.
    let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
    (tls ?? context).close(promise: nil)
  }

  /// Bytes that were passed to the connection and are not acknowledged: those of the program's buffer and of the system's.
  var unsentByteCount: Int {
    guard let context else { return 0 }
    let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    let inSystem = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      TCPSocket.unsentByteCount(of: $0)
    }
    return buffered + (inSystem ?? 0)
  }

  /// Minimum round-trip time of the connection; zero where the system does not report one.
  var roundTripTime: MediaDuration {
    let time = try? self.context?.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      TCPSocket.minimumRoundTripTime(of: $0)
    }
    return time ?? .zero
  }
}
