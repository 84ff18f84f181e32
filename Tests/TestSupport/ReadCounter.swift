package import NIOCore

/// Counts the reads of a channel that reach its socket; of a listening one, the calls of `accept`.
package final class ReadCounter: ChannelOutboundHandler {
  package typealias OutboundIn = NIOAny

  /// Number of reads, which tests set back.
  package var count = 0

  package init() {}

  package func read(context: ChannelHandlerContext) {
    self.count += 1
    context.read()
  }
}
