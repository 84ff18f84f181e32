internal import Authentication
internal import NIOCore

/// Refuses connections to link-local addresses and metadata services before a packet is sent to them: to addresses in a URL, and to
/// those that a name resolves to.
final class LinkLocalGuard: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
    if let text = address.ipAddress, IPAddress(parsing: text)?.isLinkLocalOrMetadata == true {
      promise?.fail(PushFailure("its address is link-local, which only the owner may choose"))
      return
    }
    context.connect(to: address, promise: promise)
  }
}
