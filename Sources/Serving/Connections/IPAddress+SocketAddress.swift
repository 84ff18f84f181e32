package import Authentication
package import NIOCore

extension IPAddress {
  /// The network that counts as one client: the remote IPv4 address, or its first 64 bits of IPv6; nil for other sockets.
  package static func network(of address: SocketAddress?) -> IPAddress? {
    address?.ipAddress.flatMap { IPAddress(parsing: $0)?.network }
  }
}
