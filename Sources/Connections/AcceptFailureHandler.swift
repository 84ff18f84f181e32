package import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

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
