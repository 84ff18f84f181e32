internal import Libc
package import NIOCore
internal import Synchronization

/// First handler of a listening channel: reports `accept` calls that failed for lack of descriptors or memory.
///
/// NIO's `AcceptBackoffHandler` behind it pauses accepting for a second; the connections wait in the system's queue.
package final class AcceptFailureHandler: ChannelInboundHandler, Sendable {
  package typealias InboundIn = any Channel

  private let registry: ConnectionRegistry

  /// - Parameter registry: Counts the failures, and closes a connection for each.
  package init(registry: ConnectionRegistry) {
    self.registry = registry
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) {
      self.registry.handleAcceptFailure()
    }
    context.fireErrorCaught(error)
  }
}

/// Handler of a listening channel: pauses `accept` while no file descriptor is free, and before the streams are there. Further
/// connections wait in the system's queue.
///
/// A displaced or refused connection holds its descriptor until its own event loop closes it. Without this limit many
/// simultaneous connections are accepted faster than that, until no descriptor is left.
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
    // A port that accepts no more leaves its connections in the queue, for another process.
    let isReading = try? context.channel.syncOptions?.getOption(.autoRead)
    guard isReading ?? true else { return }
    guard !self.registry.isOutOfDescriptors, !self.registry.isHeld else {
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
