/// The rules of a firewall for what comes in, as far as they name ports.
struct FirewallRules: Sendable {
  /// A rule that names ports.
  struct Rule: Equatable, Sendable {
    var ports: [ClosedRange<Int>]
    /// Transport that it is about; nil for both.
    var transport: PortFacts.Transport?
    var accepts: Bool
  }

  /// The rules in their order, of which the first that names a port decides.
  var rules: [Rule]
  /// Whether what no rule accepts is dropped.
  var dropsOthers: Bool

  /// Whether packets to a port are dropped.
  func blocks(_ port: Int, _ transport: PortFacts.Transport) -> Bool {
    let rule = self.rules.first { rule in
      rule.ports.contains { $0.contains(port) } && (rule.transport.map { $0 == transport } ?? true)
    }
    return rule.map { !$0.accepts } ?? self.dropsOthers
  }
}

extension FirewallRules {
  /// The rules in the output of `nft -n list ruleset`.
  ///
  /// All chains count as one, since those of ufw, firewalld and Docker are reached from the chain of the hook. A rule with a set by name,
  /// whose ports are elsewhere, accepts all ports.
  init(nft text: String) {
    self.init(rules: [], dropsOthers: false)
    var isInputChain = false
    for line in text.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" || $0 == ";" }
      if words.first == "chain" { isInputChain = false }
      if let hook = words.firstIndex(of: "hook") {
        isInputChain = words[words.index(after: hook)...].first == "input"
        if isInputChain, Self.follows("policy", "drop", in: words) { self.dropsOthers = true }
        continue
      }
      let accepts = words.contains("accept")
      let drops = words.contains("drop") || words.contains("reject")
      guard accepts || drops else { continue }
      if let rule = Self.rule(words, accepts: accepts) {
        self.rules.append(rule)
      } else if isInputChain, accepts, Self.namesPeers(words) {
        self.rules.append(Rule(ports: [0...65_535], accepts: true))
      } else if isInputChain, drops, let first = words.first, ["drop", "reject", "counter"].contains(first) {
        // The last rule of a chain, without a condition.
        self.dropsOthers = true
      }
    }
  }

  /// The rules in the text of `/etc/ufw/user.rules`: comments of `### tuple ### allow tcp 8080 …`.
  init(ufw text: String) {
    self.init(rules: [], dropsOthers: true)
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 5, words[1] == "tuple" else { continue }
      let ports = words[5] == "any" ? [0...65_535] : words[5].split(separator: ",").compactMap(Self.range)
      self.rules.append(
        Rule(
          ports: ports, transport: PortFacts.Transport(rawValue: String(words[4])),
          accepts: ["allow", "limit"].contains(words[3])))
    }
  }

  /// Whether a rule is about other machines as a whole, by their addresses or interface, or about all.
  private static func namesPeers(_ words: [Substring]) -> Bool {
    if ["accept", "counter"].contains(words[0]) || words.contains("saddr") { return true }
    guard let index = words.firstIndex(where: { ["iifname", "iif"].contains($0) }) else { return false }
    return words[words.index(after: index)...].first.map { !["lo", "\"lo\""].contains($0) } ?? false
  }

  private static func follows(_ word: Substring, _ next: Substring, in words: [Substring]) -> Bool {
    words.firstIndex(of: word).map { words[words.index(after: $0)...].first == next } ?? false
  }

  /// A rule of nft with the destination ports behind `dport`; nil without them.
  private static func rule(_ words: [Substring], accepts: Bool) -> Rule? {
    guard let index = words.firstIndex(of: "dport"), index > 0 else { return nil }
    let transport = PortFacts.Transport(rawValue: String(words[index - 1]))
    var ports: [ClosedRange<Int>] = []
    for word in words[words.index(after: index)...] {
      if word.hasPrefix("@") { return Rule(ports: [0...65_535], transport: transport, accepts: true) }
      let parts = word.split { "{},".contains($0) }
      if parts.isEmpty { if word.contains("}") { break } else { continue } }
      let ranges = parts.compactMap(Self.range)
      if ranges.isEmpty { break }
      ports += ranges
      if word.contains("}") { break }
    }
    return ports.isEmpty ? nil : Rule(ports: ports, transport: transport, accepts: accepts)
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
