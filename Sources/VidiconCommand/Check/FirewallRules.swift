/// The rules of a firewall for what comes in, as far as they name ports.
struct FirewallRules: Sendable {
  /// Action of a rule.
  enum Action: Equatable, Sendable {
    case accept, drop
    /// Ends the chain, and goes on behind the rule that has led to it.
    case leave
    /// Goes through another chain of the table, and on behind this rule; a chain that is not known accepts.
    case jump(String)
    /// Goes through another chain of the table, and from its end to where that of this chain leads.
    case goTo(String)
  }

  /// A rule about ports.
  struct Rule: Equatable, Sendable {
    var ports: [ClosedRange<Int>] = [0...65_535]
    /// Transport that it is about; nil for both.
    var transport: PortFacts.Transport?
    var action: Action
    /// Whether it is about some machines or interfaces only: neither what is dropped behind it counts, nor that it leaves the chain.
    var isPartial = false

    /// Whether it is about a port.
    func matches(_ port: Int, _ transport: PortFacts.Transport) -> Bool {
      self.ports.contains { $0.contains(port) } && (self.transport ?? transport) == transport
    }
  }

  /// A list of rules, of which the first about a port decides.
  struct Chain: Equatable, Sendable {
    /// Family and table of nftables, such as `inet` and `filter`; empty for the rules of another program.
    var family = ""
    var table = ""
    var name = ""
    /// The place from which packets come, such as `input`; nil for one that other chains lead to.
    var hook: String?
    /// Whether what no rule decides is dropped.
    var dropsOthers = false
    var rules: [Rule] = []

    /// Whether packets to this machine pass it. What comes over a bridge passes the chains of IP as well, and ARP is about no port.
    var isOfInput: Bool { self.hook == "input" && ["", "ip", "ip6", "inet"].contains(self.family) }
  }

  var chains: [Chain] = []

  /// The chains of what comes in that drop packets to a port. A packet passes all of the hook, so that each of them must let it through.
  func chains(blocking port: Int, _ transport: PortFacts.Transport) -> [Chain] {
    var walk = Walk(self.chains, port, transport)
    var blocking: [Chain] = []
    for (index, chain) in self.chains.enumerated() where chain.isOfInput {
      let decision = walk.decision(of: index)
      if decision == .drop || decision == .undecided && chain.dropsOthers { blocking.append(chain) }
    }
    return blocking
  }

  /// Whether packets to a port are dropped.
  func blocks(_ port: Int, _ transport: PortFacts.Transport) -> Bool {
    !self.chains(blocking: port, transport).isEmpty
  }

  /// Ports such as `8080`, `8000-8100`, and `8000:8100` of ufw.
  static func range(_ text: Substring) -> ClosedRange<Int>? {
    let numbers = text.split { $0 == "-" || $0 == ":" }.map { Int($0) }
    guard (1...2).contains(numbers.count), let first = numbers[0], let last = numbers[numbers.count - 1],
      (0...last).contains(first)
    else { return nil }
    return first...last
  }
}

// MARK: ufw

extension FirewallRules {
  /// The rules in the text of `/etc/ufw/user.rules`: comments of
  /// `### tuple ### ACTION TRANSPORT PORTS TO FROM_PORT FROM … DIRECTION`, such as `allow tcp 8080 0.0.0.0/0 any 0.0.0.0/0 in`.
  ///
  /// - Parameter defaults: The text of `/etc/default/ufw`; nil where it cannot be read.
  init(ufw text: String, defaults: String? = nil) {
    var chain = Chain(hook: "input")
    chain.dropsOthers = defaults?.split(separator: "\n").contains("DEFAULT_INPUT_POLICY=\"ACCEPT\"") != true
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      // An action may be followed by that of logging, such as allow_log; route:allow is about other machines.
      guard words.count > 9, words[1] == "tuple", words[9...].contains(where: { $0 == "in" || $0.hasPrefix("in_") }),
        let action = words[3].split(separator: "_").first, ["allow", "limit", "deny", "reject"].contains(action)
      else { continue }
      let accepts = ["allow", "limit"].contains(action)
      // Some machines may be locked out.
      if !accepts, !["0.0.0.0/0", "::/0", "any"].contains(words[8]) { continue }
      let ports = words[5] == "any" ? [0...65_535] : words[5].split(separator: ",").compactMap(Self.range)
      chain.rules.append(
        Rule(
          ports: ports, transport: PortFacts.Transport(rawValue: String(words[4])), action: accepts ? .accept : .drop))
    }
    self.init(chains: [chain])
  }
}
