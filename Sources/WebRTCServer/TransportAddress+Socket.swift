internal import Authentication
internal import CDatagrams
internal import NIOCore
internal import Serving
internal import WebRTC

extension TransportAddress {
  /// The address of a socket; nil for one that is not of IP.
  ///
  /// - Parameter local: Address of this machine at which a datagram from there has arrived; nil where the system did not report it.
  init?(_ address: SocketAddress, at local: SocketAddress? = nil) {
    guard let ip = IPAddress(address), let port = address.port else { return nil }
    self.init(ip: ip, port: UInt16(truncatingIfNeeded: port))
    self.localIP = local.flatMap { IPAddress($0) }
  }
}

extension vidicon_endpoint {
  /// An endpoint of an address, which has no scope.
  fileprivate init(_ ip: IPAddress, port: UInt16) {
    self.init()
    self.port = port
    switch ip {
    case .v4(let address): self.lower = UInt64(address)
    case .v6(let upper, let lower): (self.upper, self.lower, self.is_ipv6) = (upper, lower, true)
    }
  }
}

extension vidicon_destination {
  /// Creates a destination of system calls from an address; datagrams leave from the address at which those of its client arrive.
  ///
  /// - Parameter isIPv6: Whether the socket is of IPv6, which sends to IPv4 by mapped addresses.
  init(_ address: TransportAddress, isIPv6: Bool) {
    var endpoint = vidicon_endpoint(address.ip, port: address.port)
    self = vidicon_destination_of(&endpoint, isIPv6)
    if let localIP = address.localIP { self.source = vidicon_endpoint(localIP, port: 0) }
  }
}
