/// The rules of a firewall for what comes in, as far as they name ports.
struct FirewallRules: Sendable {
  /// A rule that names ports.
  struct Rule: Equatable, Sendable {
    var ports: [ClosedRange<Int>]
    /// Transport that it is about; nil for both.
    var transport: PortFacts.Transport?
    var accepts: Bool

    /// Accepts all ports.
    static let all = Rule(ports: [0...65_535], accepts: true)
  }

  /// The rules in their order, of which the first that names a port decides.
  var rules: [Rule] = []
  /// Whether what no rule accepts is dropped.
  var dropsOthers = false
  /// Family, table and chain of nftables that drop it, such as `inet filter input`; nil where another chain or program does.
  var droppingChain: String?

  /// Whether packets to a port are dropped.
  func blocks(_ port: Int, _ transport: PortFacts.Transport) -> Bool {
    let rule = self.rules.first { rule in
      rule.ports.contains { $0.contains(port) } && (rule.transport.map { $0 == transport } ?? true)
    }
    return rule.map { !$0.accepts } ?? self.dropsOthers
  }
}

// MARK: nftables

extension FirewallRules {
  /// The rules in the output of `nft -n list ruleset`.
  ///
  /// All chains count as one, except those of other hooks, since those of ufw, firewalld and Docker are reached from the chain of the
  /// hook. A rule that accepts ports which cannot be read, such as those of a set by name, accepts all; one that drops only what some
  /// machines or states send drops none.
  init(nft text: String) {
    self.init()
    var (table, chain) = ("", "")
    var hook: Substring?
    for line in text.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" || $0 == ";" }
      switch words.first {
      case "table" where words.count > 2: table = "\(words[1]) \(words[2])"
      case "chain" where words.count > 1: (chain, hook) = ("\(table) \(words[1])", nil)
      default: break
      }
      if let index = words.firstIndex(of: "hook") {
        hook = words[words.index(after: index)...].first
        if hook == "input", Self.follows("policy", "drop", in: words) { self.drop(in: chain) }
        continue
      }
      guard hook == nil || hook == "input" else { continue }
      // Of a map from ports to verdicts.
      let isMapped = Self.follows("dport", "vmap", in: words) && words.contains("accept,")
      if words.contains("accept") || isMapped {
        if let rule = Self.rule(words, accepts: true) {
          self.rules.append(rule)
        } else if hook == "input", Self.namesPeers(words) {
          self.rules.append(.all)
        }
      } else if words.contains("drop") || words.contains("reject") {
        if let rule = Self.rule(words, accepts: false) {
          self.rules.append(rule)
        } else if hook == "input", let first = words.first, ["drop", "reject", "counter"].contains(first) {
          // The last rule of a chain, without a condition.
          self.drop(in: chain)
        }
      }
    }
  }

  private mutating func drop(in chain: String) {
    self.dropsOthers = true
    if self.droppingChain == nil { self.droppingChain = chain }
  }

  /// Whether a rule is about other machines as a whole, by their addresses or interface, about all, or of another program than nft, whose
  /// condition nft does not show.
  private static func namesPeers(_ words: [Substring]) -> Bool {
    if ["accept", "counter"].contains(words[0]) || words.contains(where: { ["saddr", "xt", "#"].contains($0) }) {
      return true
    }
    guard let index = words.firstIndex(where: { ["iifname", "iif"].contains($0) }) else { return false }
    return words[words.index(after: index)...].first.map { !["lo", "\"lo\""].contains($0) } ?? false
  }

  private static func follows(_ word: Substring, _ next: Substring, in words: [Substring]) -> Bool {
    words.firstIndex(of: word).map { words[words.index(after: $0)...].first == next } ?? false
  }

  /// A rule with the destination ports behind `dport`; nil without them, and for one that drops a part of what comes to them.
  private static func rule(_ words: [Substring], accepts: Bool) -> Rule? {
    guard let index = words.firstIndex(of: "dport"), index > 0 else { return nil }
    let conditions: Set<Substring> = ["saddr", "iif", "iifname", "ct", "limit", "meter", "add", "update"]
    if !accepts, !conditions.isDisjoint(with: words) { return nil }
    let transport = PortFacts.Transport(rawValue: String(words[index - 1]))
    var ports: [ClosedRange<Int>] = []
    for word in words[words.index(after: index)...] {
      let ranges = word.split { "{},".contains($0) }.map(Self.range)
      // The ports end at the first word that is none.
      if ranges.contains(where: { $0 == nil }) { break }
      ports += ranges.compactMap { $0 }
      if !word.hasPrefix("{"), !word.hasSuffix(",") { break }
    }
    if ports.isEmpty { return accepts ? Rule(ports: Rule.all.ports, transport: transport, accepts: true) : nil }
    return Rule(ports: ports, transport: transport, accepts: accepts)
  }

  /// Ports such as `8080`, `8000-8100`, and `8000:8100` of ufw.
  private static func range(_ text: Substring) -> ClosedRange<Int>? {
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
    self.init()
    self.dropsOthers = defaults?.split(separator: "\n").contains("DEFAULT_INPUT_POLICY=\"ACCEPT\"") != true
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      // An action may be followed by that of logging, such as allow_log; route:allow is about other machines.
      guard words.count > 9, words[1] == "tuple", words[9...].contains(where: { $0 == "in" || $0.hasPrefix("in_") }),
        let action = words[3].split(separator: "_").first, ["allow", "limit", "deny", "reject"].contains(action)
      else { continue }
      let accepts = ["allow", "limit"].contains(action)
      // Some machines may be locked out.
      if !accepts, !["0.0.0.0/0", "::/0", "any"].contains(words[8]) { continue }
      let ports = words[5] == "any" ? Rule.all.ports : words[5].split(separator: ",").compactMap(Self.range)
      self.rules.append(
        Rule(ports: ports, transport: PortFacts.Transport(rawValue: String(words[4])), accepts: accepts))
    }
  }
}
