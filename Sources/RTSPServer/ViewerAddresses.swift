internal import NIOCore
internal import Synchronization

/// The viewers by their UDP addresses.
final class ViewerAddresses: Sendable {
  private struct Viewer {
    var owner: ObjectIdentifier
    var onActivity: @Sendable () -> Void
  }

  private let viewers = Mutex<[SocketAddress: Viewer]>([:])

  /// Adds a viewer's addresses; an address of another viewer is reassigned.
  func register(
    _ addresses: [SocketAddress], owner: ObjectIdentifier, onActivity: @escaping @Sendable () -> Void
  ) {
    self.viewers.withLock { viewers in
      for address in addresses { viewers[address] = Viewer(owner: owner, onActivity: onActivity) }
    }
  }

  /// Removes a viewer's addresses, except those reassigned to another viewer.
  func unregister(_ addresses: [SocketAddress], owner: ObjectIdentifier) {
    self.viewers.withLock { viewers in
      for address in addresses where viewers[address]?.owner == owner { viewers[address] = nil }
    }
  }

  /// Calls `onActivity` of the viewer with this address.
  func handleActivity(from address: SocketAddress) {
    self.viewers.withLock { $0[address] }?.onActivity()
  }
}

/// Receives datagrams of viewers: receiver reports, and packets that open a port in a firewall.
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
    // A viewer's machine refuses datagrams (ICMP); the end of the RTSP connection removes the viewer.
  }
}
