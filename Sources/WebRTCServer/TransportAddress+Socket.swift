internal import Authentication
internal import CDatagrams
internal import NIOCore
internal import WebRTC

extension TransportAddress {
  /// The address of a socket; nil for one that is not of IP.
  init?(_ address: SocketAddress) {
    var endpoint = vidicon_endpoint()
    guard address.withSockAddr({ pointer, _ in vidicon_endpoint_of(pointer, &endpoint) }) else { return nil }
    self.init(
      ip: endpoint.is_ipv6
        ? .v6(endpoint.upper, endpoint.lower) : .v4(UInt32(truncatingIfNeeded: endpoint.lower)),
      port: endpoint.port)
  }
}

extension vidicon_destination {
  /// Creates a destination of system calls from an address.
  ///
  /// - Parameter isIPv6: Whether the socket is of IPv6, which sends to IPv4 by mapped addresses.
  init(_ address: TransportAddress, isIPv6: Bool) {
    var endpoint = vidicon_endpoint(upper: 0, lower: 0, port: address.port, is_ipv6: address.isIPv6)
    switch address.ip {
    case .v4(let ip): endpoint.lower = UInt64(ip)
    case .v6(let upper, let lower): (endpoint.upper, endpoint.lower) = (upper, lower)
    }
    self = vidicon_destination_of(&endpoint, isIPv6)
  }
}
