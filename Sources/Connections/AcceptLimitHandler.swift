package import NIOCore
internal import Synchronization

/// Handler of a listening channel that accepts only as many connections as there are descriptors for: those that wait are in
/// the system's queue.
///
/// A connection that a new one displaces, and one that is refused, holds its descriptor until its own event loop closes it.
/// Without a limit here a crowd is accepted faster than that, until no descriptor is left.
package final class AcceptLimitHandler: ChannelDuplexHandler, Sendable {
  package typealias InboundIn = any Channel
  package typealias InboundOut = any Channel
  package typealias OutboundIn = Never
  package typealias OutboundOut = Never

  /// Time until a held `accept` is tried again.
  static let interval = TimeAmount.milliseconds(5)

  private let registry: ConnectionRegistry
  private let isHeld = Atomic(false)

  /// - Parameter registry: The connections of all servers.
  package init(registry: ConnectionRegistry) {
    self.registry = registry
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let channel = self.unwrapInboundIn(data)
    self.registry.countAccepted()
    channel.closeFuture.whenComplete { [registry] _ in registry.countClosed() }
    context.fireChannelRead(data)
  }

  package func read(context: ChannelHandlerContext) {
    guard !self.registry.isOutOfDescriptors else {
      guard !self.isHeld.exchange(true, ordering: .relaxed) else { return }
      let context = NIOLoopBound(context, eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: Self.interval) {
        self.isHeld.store(false, ordering: .relaxed)
        self.read(context: context.value)
      }
      return
    }
    context.read()
  }
}
