package import Authentication

/// An IP address and port: the source or destination of a datagram, over UDP or in the frames of a TCP connection.
///
/// With the address of this machine it is a pair of ICE, RFC 8445 §6.1.2: one port of a client that reaches two addresses of the
/// server is two of these, and each is answered from the address that was asked.
package struct TransportAddress: Hashable, Sendable, CustomStringConvertible {
  /// The address; IPv4 addresses in IPv6 form are IPv4.
  package var ip: IPAddress
  /// Port of UDP or TCP, 0 to 65,535.
  package var port: UInt16
  /// Whether it is of TCP, RFC 6544; UDP otherwise.
  package var isTCP: Bool
  /// Address of this machine at which datagrams from there arrive, and from which those to there leave; nil over TCP, of
  /// candidates, and where the system chooses.
  package var localIP: IPAddress?

  /// Creates an address from its parts.
  package init(ip: IPAddress, port: UInt16, isTCP: Bool = false) {
    self.ip = ip
    self.port = port
    self.isTCP = isTCP
  }

  /// Parses a numeric address without brackets; nil for other text.
  package init?(_ text: String, port: UInt16) {
    guard let ip = IPAddress(parsing: text) else { return nil }
    self.init(ip: ip, port: port)
  }

  /// Whether it is an IPv6 address.
  package var isIPv6: Bool {
    if case .v6 = self.ip { true } else { false }
  }

  /// Address and port as `192.0.2.1:8189`, or `[2001:db8::1]:8189/tcp`.
  package var description: String {
    (self.isIPv6 ? "[\(self.ip)]:\(self.port)" : "\(self.ip):\(self.port)") + (self.isTCP ? "/tcp" : "")
  }
}
