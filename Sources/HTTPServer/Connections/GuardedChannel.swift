internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Synchronization

/// A channel of Hummingbird's with the limits that it lacks, and whose requests are answered on its event loop.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
  typealias Value = Base.Value

  let base: Base
  let loops: ConnectionLoops

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let loop = self.loops[channel.eventLoop]
    do {
      let guardian = ConnectionGuard(loop: loop)
      guard loop.add(guardian) else { throw ChannelError.eof }
      try channel.pipeline.syncOperations.addHandler(guardian)
      let options = channel.syncOptions
      try options?.setOption(.tcpOption(.tcp_nodelay), value: 1)
      try options?.setOption(
        .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384))
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    loop.opening.add(1, ordering: .relaxed)
    let value = self.base.setup(channel: channel, logger: logger)
    value.whenFailure { _ in loop.opening.subtract(1, ordering: .relaxed) }
    return value
  }

  func handle(value: Value, logger: Logger) async {
    let channel = value.channel
    self.loops[channel.eventLoop].opening.subtract(1, ordering: .relaxed)
    await withTaskExecutorPreference(self.loops[channel.eventLoop].executor) {
      // What an answer waits for is of no use when the connection is gone.
      await withDiscardingTaskGroup { group in
        group.addTask {
          await self.base.handle(value: value, logger: logger)
          // A channel that is closed already is what is wanted.
          channel.close(promise: nil)
        }
        // It fails only when the channel was closed with an error.
        try? await channel.closeFuture.get()
        group.cancelAll()
      }
    }
  }
}
