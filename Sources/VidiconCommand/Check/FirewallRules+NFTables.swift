extension FirewallRules {
  /// The rules in the output of `nft -n list ruleset`.
  ///
  /// Chains are followed from those of the hook, as by ufw, firewalld and Docker. A rule that accepts ports which cannot be read, such as
  /// those of a set by name, accepts all; one that drops only what some machines or states send drops none. Tables that are dormant have
  /// no effect.
  init(nft text: String) {
    self.init()
    var (family, table) = ("", "")
    // Sets and maps of a table are none.
    var isInChain = false
    var isDormant = false
    for line in text.split(separator: "\n") {
      let words = Self.words(of: line)
      switch words.first {
      case "table" where words.count > 2:
        (family, table) = (String(words[1]), String(words[2]))
        (isInChain, isDormant) = (false, false)
      // Flags of a table are before its chains.
      case "flags" where !isInChain:
        if words.contains(where: { $0.hasPrefix("dormant") || $0.hasSuffix(",dormant") }) { isDormant = true }
      case "chain" where isDormant: isInChain = false
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
    var reader = NFTRuleReader(words, family: self.family)
    self.rules += reader.rules()
  }
}

/// Reads a rule of nftables word by word: conditions, as far as they are known, and a verdict.
private struct NFTRuleReader {
  private typealias Rule = FirewallRules.Rule
  private typealias Action = FirewallRules.Action

  /// Value of a condition.
  private struct Value {
    /// Names, numbers and ranges of a single one or a set.
    var names: [Substring] = []
    /// Whether all others meet the condition.
    var isNegated = false
  }

  private let words: [Substring]
  private let family: String
  private var rest: ArraySlice<Substring>
  /// Ports that the rule names; nil without, and where they cannot be read.
  private var ports: [ClosedRange<Int>]?
  /// Whether it names ports.
  private var namesPorts = false
  private var transport: PortFacts.Transport?
  /// Whether it is about some interfaces, transports or rates only.
  private var isPartial = false
  /// Whether it has a condition that is not known.
  private var hasOther = false

  private static let verdicts: Set<Substring> = ["accept", "drop", "reject", "return", "jump", "goto"]

  init(_ words: [Substring], family: String) {
    self.words = words
    self.family = family
    self.rest = words[...]
  }

  /// The rules, more than one for a map from conditions to verdicts; none for one that is not about what other machines send to ports.
  mutating func rules() -> [FirewallRules.Rule] {
    while let word = self.rest.first, !Self.verdicts.contains(word) {
      self.rest.removeFirst()
      switch (word, self.rest.first ?? "") {
      case ("meta", _): continue
      case ("counter", _): self.skipCounter()
      case ("limit", _): self.readLimit()
      case ("nfproto", _), ("protocol", _):
        if let rules = self.map(Self.ofVersion) { return rules }
        self.readVersion()
      case ("iifname", _), ("iif", _):
        if let rules = self.map(Self.ofInterface) { return rules }
        guard self.readInterface() else { return [] }
      case ("ct", "state"):
        self.rest.removeFirst()
        if let rules = self.map(Self.ofNewState) { return rules }
        guard self.readState() else { return [] }
      case ("l4proto", _), ("ip", "protocol"), ("ip6", "nexthdr"):
        if word != "l4proto" { self.rest.removeFirst() }
        // In a table for both versions, IPv6 alone.
        if word == "ip6", self.family != "ip6" { self.hasOther = true }
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
    var rule = Rule(ports: self.ports ?? [0...65_535], transport: self.transport, action: action)
    rule.isPartial = self.hasOther || self.isPartial || self.namesPorts && self.ports == nil
    switch action {
    case .accept:
      // Conditions of another program than nft, of which it shows the name only.
      let namesPeers = self.words.contains { ["saddr", "xt", "#"].contains($0) }
      return self.namesPorts || !self.hasOther || namesPeers ? rule : nil
    case .drop: return rule.isPartial ? nil : rule
    case .leave, .jump, .goTo: return rule
    }
  }

  private static func action(_ words: ArraySlice<Substring>) -> Action? {
    switch words.first {
    case "accept": .accept
    case "drop", "reject": .drop
    case "return": .leave
    case "jump": words.dropFirst().first.map { Action.jump(String($0)) }
    case "goto": words.dropFirst().first.map { Action.goTo(String($0)) }
    default: nil
    }
  }

  // MARK: Conditions

  /// Removes a value, such as `22`, `!= 22`, or `{ 22, 80 }`.
  private mutating func value() -> Value {
    var value = Value()
    if self.rest.first == "!=" || self.rest.first == "!" {
      self.rest.removeFirst()
      value.isNegated = true
    }
    guard let first = self.rest.popFirst() else { return value }
    guard first == "{" else {
      value.names = first.split(separator: ",")
      return value
    }
    while let word = self.rest.popFirst(), word != "}" { value.names += word.split(separator: ",") }
    return value
  }

  /// Removes what a counter has counted, `packets 1 bytes 60`, or its name.
  private mutating func skipCounter() {
    if self.rest.first == "packets" {
      self.rest = self.rest.dropFirst(4)
    } else if self.rest.first == "name" {
      self.rest = self.rest.dropFirst(2)
    }
  }

  /// Removes a limit, such as `rate 10/second burst 20 packets` or `rate over 1 mbytes/second`. All machines are within it at times.
  private mutating func readLimit() {
    self.isPartial = true
    guard self.rest.popFirst() == "rate" else {
      // The name of one.
      self.rest = self.rest.dropFirst()
      self.hasOther = true
      return
    }
    if self.rest.first == "over" {
      self.rest.removeFirst()
      self.hasOther = true
    }
    self.rest = self.rest.dropFirst()
    if let unit = self.rest.first, unit.contains("/") { self.rest.removeFirst() }
    if self.rest.first == "burst" { self.rest = self.rest.dropFirst(3) }
  }

  /// Reads a version of IP. All viewers may come over IPv4, while IPv6 alone may be off.
  private mutating func readVersion() {
    let value = self.value()
    let isMet = value.names.contains(where: Self.isVersion4) != value.isNegated
    if !isMet { self.hasOther = true }
  }

  /// Whether new connections are in one of the states.
  private mutating func readState() -> Bool {
    let value = self.value()
    return value.names.contains(where: Self.isNew) != value.isNegated
  }

  /// Whether the interfaces may be those of other machines: not `lo`, nor those of containers.
  private mutating func readInterface() -> Bool {
    let value = self.value()
    let isInward = value.names.allSatisfy(Self.isInward)
    // Interfaces other than inward ones are all those of other machines.
    if !value.isNegated || !isInward { self.isPartial = true }
    return value.isNegated || !isInward
  }

  /// Whether TCP or UDP is among the transports.
  private mutating func readTransport() -> Bool {
    let value = self.value()
    guard value.names.allSatisfy(Self.isSingle) else {
      self.isPartial = true
      return true
    }
    let named = value.names.compactMap { Self.transport($0) }
    let all: [PortFacts.Transport] = [.tcp, .udp]
    let transports = all.filter { named.contains($0) != value.isNegated }
    if transports.count == 1 { self.transport = transports[0] }
    return !transports.isEmpty
  }

  private mutating func readPorts() {
    self.namesPorts = true
    let value = self.value()
    guard !value.isNegated else { return }
    let ranges = value.names.map(FirewallRules.range)
    if !ranges.isEmpty, !ranges.contains(where: { $0 == nil }) { self.ports = ranges.compactMap { $0 } }
  }

  private static func isInward(_ interface: Substring) -> Bool {
    interface == "lo" || ["docker", "br-", "virbr", "veth", "lxc"].contains { interface.hasPrefix($0) }
  }

  private static func isNew(_ state: Substring) -> Bool { state == "new" || state == "0x8" }

  /// Whether it is a name or a number, not a range or the name of a set.
  private static func isSingle(_ name: Substring) -> Bool { name.first?.isLetter == true || Int(name) != nil }

  private static func isVersion4(_ name: Substring) -> Bool { ["2", "ipv4", "0x0800", "ip"].contains(name) }

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

  private static func ofVersion(_ version: Substring, _ rule: Rule) -> Rule? { self.isVersion4(version) ? rule : nil }

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
