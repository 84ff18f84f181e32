package import Authentication
package import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Handler behind TLS: counts a handshake that fails, and leaves the pipeline after one that succeeds.
package final class TLSFailureCounter: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = NIOAny

  private let refusals: RefusalCounters
  private var hasFailed = false

  /// - Parameter refusals: Counts the failures.
  package init(refusals: RefusalCounters) {
    self.refusals = refusals
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    if case .handshakeCompleted? = event as? TLSUserEvent {
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if !self.hasFailed, error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError {
      self.hasFailed = true
      self.refusals.count(.tlsFailure)
    }
    context.fireErrorCaught(error)
  }
}
