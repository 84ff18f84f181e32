package import Authentication
package import NIOCore

extension IPAddress {
  /// The address of a socket, IPv4 also where it has its IPv6 form (`::ffff:192.0.2.1`); nil for other sockets.
  package init?(_ address: SocketAddress) {
    // In network byte order, at offset 4 of sockaddr_in and at offset 8 of sockaddr_in6 of all systems.
    switch address {
    case .v4(let address):
      self = .v4(
        withUnsafeBytes(of: address.address) { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) }
      )
    case .v6(let address):
      let (upper, lower) = withUnsafeBytes(of: address.address) { bytes in
        (
          UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
          UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        )
      }
      self = upper == 0 && lower >> 32 == 0xffff ? .v4(UInt32(truncatingIfNeeded: lower)) : .v6(upper, lower)
    case .unixDomainSocket: return nil
    }
  }

  /// The network that counts as one client: the remote IPv4 address, or its first 64 bits of IPv6; nil for other sockets.
  package static func network(of address: SocketAddress?) -> IPAddress? {
    address.flatMap { IPAddress($0)?.network }
  }
}
