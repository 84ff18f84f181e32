internal import NIOCore
internal import Synchronization

/// The viewers and publishers by their UDP addresses.
final class ViewerAddresses: Sendable {
  private struct Client {
    var owner: ObjectIdentifier
    var onDatagram: @Sendable (ByteBuffer) -> Void
  }

  private let clients = Mutex<[SocketAddress: Client]>([:])

  /// Adds a client's addresses; an address of another client is reassigned.
  func register(
    _ addresses: [SocketAddress], owner: ObjectIdentifier, onDatagram: @escaping @Sendable (ByteBuffer) -> Void
  ) {
    self.clients.withLock { clients in
      for address in addresses { clients[address] = Client(owner: owner, onDatagram: onDatagram) }
    }
  }

  /// Removes a client's addresses, except those reassigned to another client.
  func unregister(_ addresses: [SocketAddress], owner: ObjectIdentifier) {
    self.clients.withLock { clients in
      for address in addresses where clients[address]?.owner == owner { clients[address] = nil }
    }
  }

  /// Calls `onDatagram` of the client with this address.
  func handle(_ datagram: ByteBuffer, from address: SocketAddress) {
    self.clients.withLock { $0[address] }?.onDatagram(datagram)
  }
}

/// Receives datagrams: packets and sender reports of publishers, receiver reports of viewers, and packets that open a port in a
/// firewall.
final class DatagramHandler: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let viewers: ViewerAddresses

  init(viewers: ViewerAddresses) {
    self.viewers = viewers
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = self.unwrapInboundIn(data)
    self.viewers.handle(envelope.data, from: envelope.remoteAddress)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A viewer's machine refuses datagrams (ICMP); the end of the RTSP connection removes the viewer.
  }
}
