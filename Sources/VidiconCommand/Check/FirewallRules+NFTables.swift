extension FirewallRules {
  /// The rules in the output of `nft -n list ruleset`.
  ///
  /// Chains are followed from those of the hook, as by ufw, firewalld and Docker. A rule that accepts ports which cannot be read, such as
  /// those of a set by name, accepts all; one that drops only what some machines or states send drops none.
  init(nft text: String) {
    self.init()
    var (family, table) = ("", "")
    // Sets and maps of a table are none.
    var isInChain = false
    for line in text.split(separator: "\n") {
      let words = Self.words(of: line)
      switch words.first {
      case "table" where words.count > 2:
        (family, table, isInChain) = (String(words[1]), String(words[2]), false)
      case "chain" where words.count > 1:
        self.chains.append(Chain(family: family, table: table, name: String(words[1])))
        isInChain = true
      case "}": isInChain = false
      case .some where isInChain: self.chains[self.chains.count - 1].read(words)
      default: break
      }
    }
  }

  /// The words of a line, without the texts of comments and of the log.
  private static func words(of line: Substring) -> [Substring] {
    var words: [Substring] = []
    for (index, part) in line.split(separator: "\"", omittingEmptySubsequences: false).enumerated() {
      // Each second part is in quotation marks.
      if index.isMultiple(of: 2) {
        words += part.split { $0 == " " || $0 == "\t" || $0 == ";" }
      } else if words.last != "comment", words.last != "prefix" {
        words.append(part)
      }
    }
    return words
  }
}

extension FirewallRules.Chain {
  /// Reads a line: hook and policy, or a rule.
  fileprivate mutating func read(_ words: [Substring]) {
    if let index = words.firstIndex(of: "hook"), index + 1 < words.count {
      self.hook = String(words[index + 1])
      if let policy = words.firstIndex(of: "policy"), policy + 1 < words.count {
        self.dropsOthers = words[policy + 1] == "drop"
      }
      return
    }
    var reader = NFTRuleReader(words)
    self.rules += reader.rules()
  }
}

/// Reads a rule of nftables word by word: conditions, as far as they are known, and a verdict.
private struct NFTRuleReader {
  private typealias Rule = FirewallRules.Rule
  private typealias Action = FirewallRules.Action

  private let words: [Substring]
  private var rest: ArraySlice<Substring>
  /// Ports that the rule names; nil without, and where they cannot be read.
  private var ports: [ClosedRange<Int>]?
  /// Whether it names ports.
  private var namesPorts = false
  private var transport: PortFacts.Transport?
  /// Whether it is about some interfaces only.
  private var isPartial = false
  /// Whether it has a condition that is not known.
  private var hasOther = false

  private static let verdicts: Set<Substring> = ["accept", "drop", "reject", "return", "jump", "goto"]

  init(_ words: [Substring]) {
    self.words = words
    self.rest = words[...]
  }

  /// The rules, more than one for a map from conditions to verdicts; none for one that is not about what other machines send to ports.
  mutating func rules() -> [FirewallRules.Rule] {
    while let word = self.rest.first, !Self.verdicts.contains(word) {
      self.rest.removeFirst()
      switch (word, self.rest.first ?? "") {
      case ("meta", _), ("counter", _): continue
      // Of the counter, and of all packets of IPv4 or IPv6.
      case ("packets", _), ("bytes", _), ("nfproto", _), ("protocol", _):
        if let rules = self.map({ _, rule in rule }) { return rules }
        _ = self.value()
      case ("iifname", _), ("iif", _):
        if let rules = self.map(Self.ofInterface) { return rules }
        guard self.readInterface() else { return [] }
      case ("ct", "state"):
        self.rest.removeFirst()
        if let rules = self.map(Self.ofNewState) { return rules }
        guard self.value().contains(where: Self.isNew) else { return [] }
      case ("l4proto", _), ("ip", "protocol"), ("ip6", "nexthdr"):
        if word != "l4proto" { self.rest.removeFirst() }
        if let rules = self.map(Self.ofTransport) { return rules }
        guard self.readTransport() else { return [] }
      case ("tcp", "dport"), ("udp", "dport"), ("th", "dport"):
        self.rest.removeFirst()
        if word != "th" { self.transport = PortFacts.Transport(rawValue: String(word)) }
        if let rules = self.map(Self.ofPorts) { return rules }
        self.readPorts()
      case ("icmp", _), ("icmpv6", _): return []
      case ("log", _): self.rest = self.rest.drop { !Self.verdicts.contains($0) }
      default: self.hasOther = true
      }
    }
    return self.rule(Self.action(self.rest)).map { [$0] } ?? []
  }

  /// The rule of the conditions and a verdict; nil where it decides nothing about ports.
  private func rule(_ action: Action?) -> Rule? {
    guard let action else { return nil }
    let rule = Rule(ports: self.ports ?? [0...65_535], transport: self.transport, action: action)
    switch action {
    case .accept:
      // Conditions of another program than nft, of which it shows the name only.
      let namesPeers = self.words.contains { ["saddr", "xt", "#"].contains($0) }
      return self.namesPorts || !self.hasOther || namesPeers ? rule : nil
    // A condition that is not known, such as a local destination, may be met by all.
    case .leave: return rule
    case .drop:
      return self.hasOther || self.isPartial || self.namesPorts && self.ports == nil ? nil : rule
    case .jump:
      var jump = rule
      jump.isPartial = self.hasOther || self.isPartial || self.namesPorts && self.ports == nil
      return jump
    }
  }

  private static func action(_ words: ArraySlice<Substring>) -> Action? {
    switch words.first {
    case "accept": .accept
    case "drop", "reject": .drop
    case "return": .leave
    case "jump", "goto": words.dropFirst().first.map { Action.jump([String($0)]) }
    default: nil
    }
  }

  // MARK: Conditions

  /// Removes a value, such as `22`, `!= 22`, or `{ 22, 80 }`, and returns what it consists of.
  private mutating func value() -> [Substring] {
    var words: [Substring] = []
    if self.rest.first == "!=" { words.append(self.rest.removeFirst()) }
    guard let first = self.rest.popFirst() else { return words }
    guard first == "{" else { return words + first.split(separator: ",") }
    while let word = self.rest.popFirst(), word != "}" { words += word.split(separator: ",") }
    return words
  }

  /// Whether the interfaces may be those of other machines: not `lo`, nor those of containers.
  private mutating func readInterface() -> Bool {
    let names = self.value()
    if names.first == "!=" { return true }
    self.isPartial = true
    return !names.allSatisfy(Self.isInward)
  }

  private mutating func readTransport() -> Bool {
    let names = self.value()
    guard names.count == 1 else { return true }
    self.transport = Self.transport(names[0])
    return self.transport != nil
  }

  private mutating func readPorts() {
    self.namesPorts = true
    let ranges = self.value().map(FirewallRules.range)
    if !ranges.isEmpty, !ranges.contains(where: { $0 == nil }) { self.ports = ranges.compactMap { $0 } }
  }

  private static func isInward(_ interface: Substring) -> Bool {
    interface == "lo" || ["docker", "br-", "virbr", "veth", "lxc"].contains { interface.hasPrefix($0) }
  }

  private static func isNew(_ state: Substring) -> Bool { state == "new" || state == "0x8" }

  private static func transport(_ name: Substring) -> PortFacts.Transport? {
    switch name {
    case "tcp", "6": .tcp
    case "udp", "17": .udp
    default: nil
    }
  }

  // MARK: Maps

  /// The rules of a map such as `vmap { 22 : accept, 80 : jump web }`, each with its key considered; nil where no map follows.
  ///
  /// - Parameter consider: Returns the rule for a key; nil for one that is not about what other machines send to ports.
  private func map(_ consider: (Substring, Rule) -> Rule?) -> [Rule]? {
    guard self.rest.first == "vmap" else { return nil }
    let text = self.rest.dropFirst().filter { $0 != "{" && $0 != "}" }.joined(separator: " ")
    // The elements of a map by name are elsewhere.
    guard !text.hasPrefix("@") else { return self.rule(.accept).map { [$0] } ?? [] }
    return text.split(separator: ",").compactMap { element -> Rule? in
      let parts = element.split(separator: ":")
      guard parts.count == 2, let key = parts[0].split(separator: " ").first else { return nil }
      let rule = self.rule(Self.action(parts[1].split(separator: " ")[...]))
      return rule.flatMap { consider(key, $0) }
    }
  }

  private static func ofInterface(_ name: Substring, _ rule: Rule) -> Rule? {
    var rule = rule
    rule.isPartial = true
    return self.isInward(name) || rule.action == .drop ? nil : rule
  }

  private static func ofNewState(_ state: Substring, _ rule: Rule) -> Rule? { self.isNew(state) ? rule : nil }

  private static func ofTransport(_ name: Substring, _ rule: Rule) -> Rule? {
    guard let transport = self.transport(name) else { return nil }
    var rule = rule
    rule.transport = transport
    return rule
  }

  private static func ofPorts(_ ports: Substring, _ rule: Rule) -> Rule? {
    guard let range = FirewallRules.range(ports) else { return rule.action == .accept ? rule : nil }
    var rule = rule
    rule.ports = [range]
    return rule
  }
}
