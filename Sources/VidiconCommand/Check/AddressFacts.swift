import Authentication

/// Facts about the addresses of this machine: from where each can be reached.
struct AddressFacts: Sendable {
  /// Machines that reach an address, as far as its number and interface show.
  enum Reach: String, Sendable {
    case internet = "the internet, where no firewall is in between"
    case localNetwork = "machines of the local network"
    case tunnel = "machines of the same VPN"
    case link = "machines of the same link only"
    case containers = "containers and virtual machines of this machine only"
    case machine = "this machine only"
  }

  /// An address of an interface.
  struct Address: Equatable, Sendable {
    var text: String
    var interface: String
    var reach: Reach
  }

  /// The address to listen on; nil for all.
  var bind: String?
  /// Addresses without those of IPv6 links, in the order of preference.
  var addresses: [Address]
  /// Host of the address that pages and the QR code show.
  var shownHost: String
  /// Whether the program runs in a container whose network is a bridge's: other machines reach published ports only.
  var isBehindBridge = false
  /// Whether the configuration has an address at which a router or host forwards WebRTC.
  var hasForwardedAddress = false

  /// One finding for each address that is listened on, or the reason why no other machine reaches one.
  var findings: [CheckFinding] {
    if let bind, let address = IPAddress(parsing: bind), !Self.isUnspecified(bind) {
      let owner = self.addresses.first { IPAddress(parsing: $0.text) == address }
      guard owner != nil || address.isLoopback || address.isLinkLocal else {
        return [
          .fault(
            "address \(bind)", "no interface of this machine has it",
            .advice("give an address of this machine with --bind, or leave it out"))
        ]
      }
      if self.isBehindBridge, !address.isLoopback { return [self.bridge] + self.forwarding }
      let reach = address.isLoopback ? Reach.machine : owner?.reach ?? .link
      return [.ok("address \(bind)", "reached by \(reach.rawValue)")]
    }
    if self.isBehindBridge { return [self.bridge] + self.forwarding }
    let outward = self.addresses.filter { [.internet, .localNetwork, .tunnel].contains($0.reach) }
    guard outward.isEmpty else { return outward.map(self.finding) }
    if let address = self.addresses.first(where: { $0.reach == .link }) {
      return [
        .warning(
          "address \(address.text)", "reached by \(address.reach.rawValue), since no DHCP server has given one",
          .advice("check the cable or Wi-Fi, and the router's DHCP"))
      ]
    }
    let inward = self.addresses.first { $0.reach == .containers }
    return [
      .fault(
        "addresses",
        inward.map { "only \($0.text) of \($0.interface): \($0.reach.rawValue)" } ?? "this machine has no network",
        .command("ip address"))
    ]
  }

  private func finding(_ address: Address) -> CheckFinding {
    let shown = self.shownHost == address.text ? "; the QR code shows it" : ""
    return .ok("address \(address.text)", "\(address.interface), reached by \(address.reach.rawValue)\(shown)")
  }

  private var bridge: CheckFinding {
    .warning(
      "container", "its network is a bridge: other machines reach published ports only, and mDNS does not pass",
      .advice("give the container the network of its host, as by docker run --network host"))
  }

  private var forwarding: [CheckFinding] {
    guard !self.hasForwardedAddress else { return [] }
    return [
      .warning(
        "WebRTC", "viewers get the container's address, which they cannot reach",
        .advice("give the host's with --ice-address"))
    ]
  }

  private static func isUnspecified(_ text: String) -> Bool { ["::", "0.0.0.0"].contains(text) }

  /// Prefixes of the names of interfaces of a VPN.
  private static let tunnels = ["tun", "utun", "tap", "wg", "tailscale", "zt", "ppp", "nebula"]

  /// From where an address can be reached.
  ///
  /// - Parameter isInward: Whether the interface leads to containers or virtual machines, or is a tunnel.
  static func reach(of text: String, interface: String, isInward: Bool) -> Reach {
    guard let address = IPAddress(parsing: text), !address.isLoopback else { return .machine }
    if self.tunnels.contains(where: { interface.hasPrefix($0) }) { return .tunnel }
    if isInward { return .containers }
    if address.isLinkLocal { return .link }
    // RFC 1918, RFC 6598 and RFC 4193.
    let networks = [("10.0.0.0", 8), ("172.16.0.0", 12), ("192.168.0.0", 16), ("100.64.0.0", 10), ("fc00::", 7)]
    let isPrivate = networks.contains { network, length in
      IPAddress(parsing: network).map { address.shares(prefix: length, with: $0) } ?? false
    }
    return isPrivate ? .localNetwork : .internet
  }
}
