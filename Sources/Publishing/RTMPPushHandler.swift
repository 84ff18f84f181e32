internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOTLS
internal import RTMP
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// One connection of a push to a server: performs what ``RTMPClientSession`` decides. Used on its event loop only.
final class RTMPPushHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// An event of the connection.
  enum Event {
    /// The server waits for media.
    case accepted
    /// The connection has ended, or was never made; once, and last.
    case ended(String)
  }

  private let url: RTMPURL
  private var session: RTMPClientSession
  private var context: ChannelHandlerContext?
  private var timer: Scheduled<Void>?
  private let clock = StreamClock.system
  /// Nil once the connection has ended.
  private var report: ((Event) -> Void)?

  /// - Parameter report: Called with each event, on the event loop.
  init(url: RTMPURL, report: @escaping (Event) -> Void) {
    self.url = url
    self.report = report
    self.session = Self.session(url)
  }

  private static func session(_ url: RTMPURL) -> RTMPClientSession {
    RTMPClientSession(
      url: url, purpose: .publish, now: StreamClock.system.now(), makeRandom: { .random(in: 0...UInt64.max) })
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
    self.session = Self.session(self.url)
    self.scheduleTimer()
    if !self.url.isEncrypted { self.perform(self.session.start(now: self.clock.now())) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { self.perform(self.session.start(now: self.clock.now())) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.perform(self.session.receive(self.unwrapInboundIn(data), now: self.clock.now()))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.end(PushFailure.text(of: error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.end(
      self.session.isStreaming ? "the server has closed the connection" : "the server closes connections at once")
    context.fireChannelInactive()
  }

  private func perform(_ actions: [RTMPClientSession.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
      case .started: self.report?(.accepted)
      case .media: break
      case .reconnect: self.end("the server asks for a new connection")
      case .close(let failure): self.end(PushFailure.text(of: failure))
      }
    }
    self.scheduleTimer()
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

  private func end(_ reason: String) {
    let report = self.report.take()
    self.timer?.cancel()
    self.context?.close(promise: nil)
    report?(.ended(reason))
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

  /// Bytes that were passed to the connection and are not acknowledged: those of the program's buffer and of the system's.
  var unsentByteCount: Int {
    guard let context else { return 0 }
    let buffered = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    let inSystem = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
      UnsentBytes.count(of: $0)
    }
    return buffered + (inSystem ?? 0)
  }
}

/// Bytes in a TCP socket's send buffer.
private enum UnsentBytes {
  /// Bytes that the peer has not acknowledged; 0 where the system does not say.
  static func count(of socket: CInt) -> Int {
    var count: CInt = 0
    #if canImport(Darwin)
    var length = socklen_t(MemoryLayout<CInt>.size)
    let result = getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &length)
    #else
    let result = ioctl(socket, UInt(TIOCOUTQ), &count)
    #endif
    return result == 0 ? Int(count) : 0
  }
}
