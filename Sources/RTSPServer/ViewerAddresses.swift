internal import NIOCore
internal import Synchronization

/// Which viewer an address belongs to.
final class ViewerAddresses: Sendable {
  private struct Viewer {
    var owner: ObjectIdentifier
    var onActivity: @Sendable () -> Void
  }

  private let viewers = Mutex<[SocketAddress: Viewer]>([:])

  func register(
    _ addresses: [SocketAddress], owner: ObjectIdentifier, onActivity: @escaping @Sendable () -> Void
  ) {
    self.viewers.withLock { viewers in
      for address in addresses { viewers[address] = Viewer(owner: owner, onActivity: onActivity) }
    }
  }

  func unregister(_ addresses: [SocketAddress], owner: ObjectIdentifier) {
    self.viewers.withLock { viewers in
      for address in addresses where viewers[address]?.owner == owner { viewers[address] = nil }
    }
  }

  func handleActivity(from address: SocketAddress) {
    self.viewers.withLock { $0[address] }?.onActivity()
  }
}

/// Receives what viewers send over UDP: receiver reports, and packets that open a way through a firewall.
final class DatagramHandler: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let viewers: ViewerAddresses

  init(viewers: ViewerAddresses) {
    self.viewers = viewers
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.viewers.handleActivity(from: self.unwrapInboundIn(data).remoteAddress)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A viewer's machine that refuses datagrams; its connection tells when it is gone.
  }
}
