internal import Cryptography

/// The names and addresses that a local authority may issue certificates for: its name constraints, RFC 5280 §4.2.1.10.
///
/// A phone that trusts the authority accepts its certificates for these alone: nothing on the Internet but a domain name of
/// this machine itself.
struct AuthorityConstraints: Sendable {
  /// Permitted names; a name below one of them is permitted too.
  let domains: [String]

  /// Permitted networks, each an address and a mask: loopback, private (RFC 1918), link-local (RFC 3927), then loopback,
  /// unique local (RFC 4193) and link-local of IPv6.
  static let networks: [[UInt8]] =
    [
      ([127, 0, 0, 0], 8), ([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16), ([169, 254, 0, 0], 16),
      ([UInt8](repeating: 0, count: 15) + [1], 128), ([0xfc] + [UInt8](repeating: 0, count: 15), 7),
      ([0xfe, 0x80] + [UInt8](repeating: 0, count: 14), 10),
    ].map { address, length in
      address + address.indices.map { ~(UInt8.max >> UInt8(max(0, min(8, length - 8 * $0)))) }
    }

  /// The constraints of a new authority: `localhost`, all of `.local`, and the machine's own name where it has a domain.
  init(for names: CertificateNames) {
    self.domains = ["localhost", "local"] + names.hosts.filter { $0 != "localhost" && !$0.hasSuffix(".local") }
  }

  /// The constraints of an authority's certificate; nil where they are missing, not critical, or permit more than those of
  /// this program.
  init?(of certificate: Certificate) {
    guard let names = certificate.permittedNames else { return nil }
    let networks = names.compactMap { if case .address(let network) = $0 { network } else { nil } }
    self.domains = names.compactMap { if case .dns(let domain) = $0 { domain } else { nil } }
    // Without any, all would be permitted. A name of one label is a top-level domain.
    guard !self.domains.isEmpty, !networks.isEmpty, networks.allSatisfy({ Self.networks.contains($0) }),
      self.domains.allSatisfy({ ["localhost", "local"].contains($0) || $0.split(separator: ".").count > 1 })
    else { return nil }
  }

  /// The permitted names and networks of the authority's certificate.
  var permittedNames: [GeneralName] {
    self.domains.map { .dns($0) } + Self.networks.map { .address($0) }
  }

  /// The permitted ones of a machine's names and addresses: a certificate with any other would not be valid at all.
  func permitted(_ names: CertificateNames) -> CertificateNames {
    var names = names
    names.hosts.removeAll { host in !self.domains.contains { host == $0 || host.hasSuffix(".\($0)") } }
    names.addresses.removeAll { address in !Self.networks.contains { Self.isAddress(address, in: $0) } }
    return names
  }

  private static func isAddress(_ address: [UInt8], in network: [UInt8]) -> Bool {
    network.count == 2 * address.count
      && address.indices.allSatisfy { address[$0] & network[address.count + $0] == network[$0] }
  }
}
