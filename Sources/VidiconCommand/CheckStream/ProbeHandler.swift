import Media
import NIOCore
import NIOTLS
import Threading

/// Connects a ``ConnectionProbe`` with a channel. Used on its event loop only.
final class ProbeHandler<Probe: ConnectionProbe>: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let isEncrypted: Bool
  private let probe: Probe
  private let promise: EventLoopPromise<Probe.Observation>
  private let clock = StreamClock.system
  private var isStarted = false
  private var hasEnded = false
  private var context: ChannelHandlerContext?
  private var timer: Scheduled<Void>?

  /// - Parameters:
  ///   - isEncrypted: Whether the probe starts when TLS is complete.
  ///   - promise: Gets the facts, or the reason why the connection was never open.
  init(_ probe: Probe, isEncrypted: Bool, promise: EventLoopPromise<Probe.Observation>) {
    self.probe = probe
    self.isEncrypted = isEncrypted
    self.promise = promise
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    if context.channel.isActive, !self.isEncrypted { self.start() }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    self.timer?.cancel()
  }

  func channelActive(context: ChannelHandlerContext) {
    if !self.isEncrypted { self.start() }
    context.fireChannelActive()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted? = event as? TLSUserEvent { self.start() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !self.hasEnded else { return }
    self.send(self.probe.receive(self.unwrapInboundIn(data), at: self.clock.now()))
    self.proceed()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.end(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.end(ConnectionFailure.closed)
    context.fireChannelInactive()
  }

  private func start() {
    guard !self.isStarted, !self.hasEnded else { return }
    self.isStarted = true
    self.send(self.probe.start(at: self.clock.now()))
    self.proceed()
  }

  private func send(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    self.context?.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
  }

  /// Ends a complete probe; waits for the next deadline of another one.
  private func proceed() {
    self.timer?.cancel()
    self.timer = nil
    guard !self.probe.isComplete else { return self.succeed() }
    guard let context else { return }
    let delay = max(self.probe.nextDeadline - self.clock.now(), .zero)
    // Safe because handler and task share an event loop.
    self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
      self.send(self.probe.handleTime(self.clock.now()))
      self.proceed()
    }
  }

  private func end(_ error: any Error) {
    guard !self.hasEnded else { return }
    if self.isStarted {
      self.probe.handleEnd(at: self.clock.now())
      self.succeed()
    } else {
      self.hasEnded = true
      self.promise.fail(error)
      self.context?.close(promise: nil)
    }
  }

  private func succeed() {
    guard !self.hasEnded else { return }
    self.hasEnded = true
    self.timer?.cancel()
    let observation = self.probe.observation(at: self.clock.now())
    self.send(self.probe.finish())
    self.context?.close(promise: nil)
    // Last: the program may end when it has all facts.
    self.promise.succeed(observation)
  }
}
