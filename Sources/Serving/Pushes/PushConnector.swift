internal import Authentication
package import Media
package import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Opens the TCP connections of a push, on the event loop of the pushes.
package struct PushConnector: Sendable {
  /// The event loop of all pushes, on which a link is used.
  package let eventLoop: any EventLoop
  /// Whether the target's address may be link-local: the owner has chosen it, or allows such addresses to operators.
  package let allowsLinkLocal: Bool
  private let service: PushService

  init(_ service: PushService, eventLoop: any EventLoop, allowsLinkLocal: Bool) {
    self.service = service
    self.eventLoop = eventLoop
    self.allowsLinkLocal = allowsLinkLocal
  }

  /// Maximum time of each step before the server has accepted the stream.
  package var stepTimeout: MediaDuration { self.service.stepTimeout }

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - isEncrypted: Whether TLS is set up first, with the authorities of the service.
  ///   - isNamedByServer: Whether a server has named the host, in a redirect: only an owner chooses a link-local address.
  ///   - timeout: Maximum time until TCP is connected.
  ///   - addHandlers: Adds the handlers of the protocol to a channel, behind that of TLS; called on the event loop.
  /// - Returns: The channel once TCP is connected. Its errors are for ``PushFailure/text(of:)``.
  package func connect(
    to host: String, port: UInt16, isEncrypted: Bool, isNamedByServer: Bool, timeout: MediaDuration,
    addHandlers: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let tls: NIOSSLContext?
    do {
      tls = isEncrypted ? try self.service.tlsContext() : nil
    } catch {
      // In a later turn: the push performs the actions of this one first.
      return self.eventLoop.submit { throw PushFailure("TLS cannot be set up") }
    }
    let allowsLinkLocal = self.allowsLinkLocal && !isNamedByServer
    return ClientBootstrap(group: self.eventLoop)
      .connectTimeout(.nanoseconds(timeout.nanoseconds))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if !allowsLinkLocal { try pipeline.addHandler(LinkLocalGuard()) }
          if let tls {
            // An IP address is verified as such, and has no place in SNI (RFC 6066 §3).
            let name = IPAddress(parsing: host) == nil ? host : nil
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
          }
          try addHandlers(channel)
        }
      }
      .connect(host: host, port: Int(port))
  }
}

/// Refuses connections to link-local addresses and metadata services before a packet is sent to them: to addresses in a URL, and to
/// those that a name resolves to.
final class LinkLocalGuard: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
    if IPAddress(address)?.isLinkLocalOrMetadata == true {
      promise?.fail(PushFailure("its address is link-local, which only the owner may choose"))
      return
    }
    context.connect(to: address, promise: promise)
  }
}
