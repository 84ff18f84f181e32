internal import Authentication

/// Addresses of a machine for an answer: FFmpeg uses the first one only, others try all. Pure.
enum WebRTCCandidates {
  /// Maximum number of addresses.
  static let maximumCount = 16

  /// Addresses in the order of the answer, each once.
  ///
  /// - Parameters:
  ///   - used: Addresses that the client has reached for HTTP: the machine's own one first, which is another one than that of the URL
  ///     behind a port that is forwarded. Those of its loopback interface only a client of this machine has reached.
  ///   - configured: Those that the owner gives, beside the machine's own.
  ///   - interfaces: Those of all interfaces.
  ///   - isIPv4Only: Whether the port has no IPv6.
  /// - Returns: At least one: without a network, clients are on this machine.
  static func addresses(
    used: [IPAddress], configured: [IPAddress], interfaces: [IPAddress], isIPv4Only: Bool
  ) -> [IPAddress] {
    // A link-local address of IPv6 means nothing without its interface, which candidates do not have, RFC 8445 §5.1.1.1.
    let reached = used.filter { !($0.isIPv6 && $0.isLinkLocal) && !$0.isUnspecified }
    let others = interfaces.filter { !$0.isLoopback && !$0.isLinkLocal }
    let all = reached + configured + others.filter { !$0.isIPv6 } + others.filter(\.isIPv6)
    var seen: Set<IPAddress> = []
    let usable = all.filter { !(isIPv4Only && $0.isIPv6) && seen.insert($0).inserted }
    return usable.isEmpty ? [.v4(0x7F00_0001)] : Array(usable.prefix(Self.maximumCount))
  }
}

extension IPAddress {
  fileprivate var isIPv6: Bool {
    if case .v6 = self { true } else { false }
  }

  /// Whether it is `0.0.0.0` or `::`.
  fileprivate var isUnspecified: Bool {
    switch self {
    case .v4(let address): address == 0
    case .v6(let upper, let lower): upper == 0 && lower == 0
    }
  }
}
