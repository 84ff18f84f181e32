internal import Authentication
internal import NIOCore
internal import NIOHTTP2
internal import NIOTLS

/// Handler behind ``TLSFailureCounter``: places an ``HTTP2ErrorCounter`` when HTTP/2 was negotiated, and leaves the
/// pipeline.
///
/// The negotiation adds the handlers of HTTP/2 while the event that the handshake is complete passes.
final class HTTP2ErrorCounterInstaller: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny

  private let refusals: RefusalCounters

  /// - Parameter refusals: Counts the errors.
  init(refusals: RefusalCounters) {
    self.refusals = refusals
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
    let pipeline = context.pipeline.syncOperations
    if let http2 = try? pipeline.handler(type: NIOHTTP2Handler.self) {
      // Fails on a closed channel only.
      try? pipeline.addHandler(HTTP2ErrorCounter(refusals: self.refusals), position: .after(http2))
    }
    pipeline.removeHandler(self, promise: nil)
  }
}

/// Counts connections on which a client breaks the rules of HTTP/2 framing, RFC 9113 §5.4.1, as malformed: once each.
private final class HTTP2ErrorCounter: ChannelInboundHandler {
  typealias InboundIn = NIOAny

  private let refusals: RefusalCounters
  private var hasFailed = false

  init(refusals: RefusalCounters) {
    self.refusals = refusals
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A stream that has just ended may still be named by frames on their way.
    let isLate = error is NIOHTTP2Errors.NoSuchStream || error is NIOHTTP2Errors.StreamClosed
    if !self.hasFailed, !isLate, error is any NIOHTTP2Error {
      self.hasFailed = true
      self.refusals.count(.malformed)
    }
    context.fireErrorCaught(error)
  }
}
