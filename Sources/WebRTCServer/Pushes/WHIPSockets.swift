internal import Authentication
internal import Media
package import NIOCore
internal import NIOPosix
internal import Serving
package import WebRTC

/// The UDP sockets of one session of a push, or of a check: one of IPv4 and, where the machine has it, one of IPv6. Used on its event
/// loop only.
// Safe because all properties are used on the event loop only.
package final class WHIPSockets: @unchecked Sendable {
  private let channels: [any Channel]
  /// The last destination, which nearly all datagrams have.
  private var last: (address: TransportAddress, socket: SocketAddress, channel: any Channel)?

  private init(_ channels: [any Channel]) { self.channels = channels }

  /// Passes each datagram to a closure.
  private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    private let receive: (ByteBuffer, TransportAddress) -> Void

    init(_ receive: @escaping (ByteBuffer, TransportAddress) -> Void) { self.receive = receive }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let envelope = self.unwrapInboundIn(data)
      guard let address = TransportAddress(envelope.remoteAddress) else { return }
      self.receive(envelope.data, address)
    }

    /// ICMP reports that a candidate is not there: the others are checked all the same.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
  }

  /// Opens the sockets at free ports.
  ///
  /// - Parameter receive: Called with each datagram and its source, on the event loop.
  package static func open(
    on eventLoop: any EventLoop, receive: @escaping @Sendable (ByteBuffer, TransportAddress) -> Void
  ) -> EventLoopFuture<WHIPSockets> {
    @Sendable func bind(_ host: String) -> EventLoopFuture<any Channel> {
      DatagramBootstrap(group: eventLoop)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Receiver(receive))
          }
        }
        .bind(host: host, port: 0)
    }
    return bind("0.0.0.0").flatMap { first in
      // A machine may have no IPv6.
      bind("::").map { WHIPSockets([first, $0]) }.flatMapErrorThrowing { _ in WHIPSockets([first]) }
    }
  }

  /// Addresses of the sockets, on all interfaces that other machines reach. Without one, that of the machine itself.
  ///
  /// - Parameter includesLoopback: Whether the server is on this machine.
  func candidates(includesLoopback: Bool) -> [TransportAddress] {
    let devices = (try? System.enumerateDevices()) ?? []
    let all = devices.compactMap { $0.address.flatMap { IPAddress($0) } }
    let addresses = all.filter { !$0.isLinkLocal && (includesLoopback || !$0.isLoopback) }
    var candidates: [TransportAddress] = []
    for channel in self.channels {
      guard let local = channel.localAddress, let port = local.port else { continue }
      let isIPv6 = local.protocol == .inet6
      for ip in addresses.isEmpty ? [.v4(0x7F00_0001)] : addresses {
        let address = TransportAddress(ip: ip, port: UInt16(truncatingIfNeeded: port))
        if address.isIPv6 == isIPv6, !candidates.contains(address) { candidates.append(address) }
      }
    }
    return Array(candidates.prefix(Self.maximumCandidateCount))
  }

  /// Maximum number of addresses in an offer.
  private static let maximumCandidateCount = 16

  /// Sends datagrams; those that a full socket does not take are lost, as others are.
  package func send(_ batch: DatagramBatch) {
    for (address, datagram) in batch.datagrams {
      guard let (socket, channel) = self.destination(address), channel.isWritable else { continue }
      channel.write(AddressedEnvelope(remoteAddress: socket, data: datagram), promise: nil)
    }
    for channel in self.channels { channel.flush() }
  }

  private func destination(_ address: TransportAddress) -> (SocketAddress, any Channel)? {
    if let last, last.address == address { return (last.socket, last.channel) }
    guard let socket = try? SocketAddress(ipAddress: "\(address.ip)", port: Int(address.port)),
      let channel = self.channels.first(where: { $0.localAddress?.protocol == socket.protocol })
    else { return nil }
    self.last = (address, socket, channel)
    return (socket, channel)
  }

  /// Closes the sockets once they have sent what they hold.
  package func close() {
    for channel in self.channels { channel.close(promise: nil) }
  }
}
