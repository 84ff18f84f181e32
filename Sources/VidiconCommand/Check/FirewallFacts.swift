/// Facts about the firewall of this machine, as far as this user may know them.
struct FirewallFacts: Sendable {
  /// Program that keeps the rules.
  enum Keeper: Sendable {
    case ufw, firewalld
  }

  /// The ports that viewers and publishers connect to; those that any free one replaces are not among them.
  var ports: [PortFacts.Port]
  /// Program that keeps the rules; nil where none is known.
  var keeper: Keeper?
  /// The rules; nil where this user may not read them.
  var rules: FirewallRules?
  /// Whether the kernel has a packet filter.
  var hasFilter = false
  /// Whether iptables is installed, whose own chains are changed by it rather than by nft.
  var hasIPTables = false

  /// One finding, or one for each port that is blocked.
  var findings: [CheckFinding] {
    let subject = "firewall"
    guard !self.ports.isEmpty else { return [.ok(subject, "other machines reach no port of this configuration")] }
    if let rules {
      let blocked = self.ports.filter { rules.blocks($0.number, $0.transport) }
      guard blocked.isEmpty else { return blocked.map(self.finding) }
      return [.ok(subject, "its rules let the ports through; those of a router are not seen from here")]
    }
    switch self.keeper {
    case .ufw:
      return [
        .warning(
          subject, "ufw is on, and whether it lets the ports through is known to root only",
          .command("sudo ufw status verbose"))
      ]
    case .firewalld:
      return [
        .warning(
          subject, "firewalld is on, and whether it lets the ports through is known to root only",
          .command("sudo firewall-cmd --list-all"))
      ]
    case nil where self.hasFilter:
      return [.ok(subject, "no ufw or firewalld; rules of the kernel's own are known to root with nft only")]
    case nil: return [.ok(subject, "none on this machine; that of a router is not seen from here")]
    }
  }

  private func finding(_ port: PortFacts.Port) -> CheckFinding {
    let (number, transport) = ("\(port.number)", port.transport.rawValue)
    let chains = self.rules?.chains(blocking: port.number, port.transport) ?? []
    let command =
      switch self.keeper {
      case .ufw: "sudo ufw allow \(number)/\(transport)"
      case .firewalld: "sudo firewall-cmd --permanent --add-port=\(number)/\(transport) && sudo firewall-cmd --reload"
      case nil: chains.map { self.command(opening: number, transport, in: $0) }.joined(separator: " && ")
      }
    // Each of both may have chains of its own.
    let versions = Set(chains.map(\.family))
    let version = versions == ["ip"] ? " over IPv4" : versions == ["ip6"] ? " over IPv6" : ""
    return .fault(
      "firewall",
      "it drops what other machines send to the \(port.service) port \(number) (\(transport.uppercased()))\(version)",
      .command(command))
  }

  /// The command that lets packets to a port through a chain, by the program that made the chain.
  private func command(opening port: String, _ transport: String, in chain: FirewallRules.Chain) -> String {
    if self.hasIPTables, chain.table == "filter", chain.name == "INPUT", ["ip", "ip6"].contains(chain.family) {
      return "sudo \(chain.family)tables-nft -I INPUT -p \(transport) --dport \(port) -j ACCEPT"
    }
    return "sudo nft insert rule \(chain.family) \(chain.table) \(chain.name) \(transport) dport \(port) accept"
  }
}
