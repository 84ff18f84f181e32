internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import Serving
internal import Synchronization

/// A Hummingbird child channel with limits on connections and time, whose requests are processed on its event loop.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
  typealias Value = Base.Value

  let base: Base
  let loops: ConnectionLoops

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let loop = self.loops[channel.eventLoop]
    do {
      let guardian = ConnectionGuard(loop: loop)
      guard loop.add(guardian, on: channel) else { throw ChannelError.eof }
      try channel.pipeline.syncOperations.addHandler(guardian)
      let options = channel.syncOptions
      try options?.setOption(.tcpOption(.tcp_nodelay), value: 1)
      try options?.setOption(
        .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384))
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    loop.pending.add(1, ordering: .relaxed)
    let value = self.base.setup(channel: channel, logger: logger)
    // Right behind TLS: the negotiation of the protocol consumes the event that the handshake is complete. There is none
    // without TLS, or on a closed channel.
    let pipeline = channel.pipeline.syncOperations
    if let encryption = try? pipeline.handler(type: NIOSSLServerHandler.self) {
      let refusals = loop.registry.refusals
      try? pipeline.addHandlers(
        [TLSFailureCounter(refusals: refusals), HTTP2ErrorCounterInstaller(refusals: refusals)],
        position: .after(encryption))
    }
    value.whenFailure { _ in loop.pending.subtract(1, ordering: .relaxed) }
    return value
  }

  func handle(value: Value, logger: Logger) async {
    let channel = value.channel
    self.loops[channel.eventLoop].pending.subtract(1, ordering: .relaxed)
    await withTaskExecutorPreference(self.loops[channel.eventLoop].executor) {
      // The end of the connection cancels the requests that wait.
      await withDiscardingTaskGroup { group in
        group.addTask {
          await self.base.handle(value: value, logger: logger)
          // No effect on a closed channel.
          channel.close(promise: nil)
        }
        // Fails only when the channel was closed with an error.
        try? await channel.closeFuture.get()
        group.cancelAll()
      }
    }
  }
}

/// Runs tasks on an event loop, so that requests are processed on the thread of their channel without a thread hop.
final class EventLoopExecutor: TaskExecutor {
  let eventLoop: any EventLoop

  init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    self.eventLoop.execute {
      job.runSynchronously(on: self.asUnownedTaskExecutor())
    }
  }
}
