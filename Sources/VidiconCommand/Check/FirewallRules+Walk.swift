extension FirewallRules {
  /// Follows packets to one port through chains.
  ///
  /// Each chain is read once, for all rules that lead to it: the number of ways through chains grows exponentially with their depth.
  struct Walk {
    /// Decision of a chain.
    enum Decision: Sendable {
      case accept, drop, undecided
    }

    private struct Place: Hashable {
      var family: String
      var table: String
      var name: String
    }

    private struct Visit: Hashable {
      var index: Int
      var isPartial: Bool
    }

    /// Maximum number of jumps one after the other, as in the kernel.
    private static let maximumDepth = 16

    private let chains: [Chain]
    private let port: Int
    private let transport: PortFacts.Transport
    private var indices: [Place: Int] = [:]
    /// Decisions of the chains that were read; one that leads back to itself decides nothing by that.
    private var decisions: [Visit: Decision] = [:]

    init(_ chains: [Chain], _ port: Int, _ transport: PortFacts.Transport) {
      self.chains = chains
      self.port = port
      self.transport = transport
      for (index, chain) in chains.enumerated() {
        self.indices[Place(family: chain.family, table: chain.table, name: chain.name)] = index
      }
    }

    /// The decision of the first rule about the port.
    ///
    /// - Parameter isPartial: Whether only some machines or interfaces lead to the chain, so that what it drops does not count.
    mutating func decision(of index: Int, isPartial: Bool = false, depth: Int = 0) -> Decision {
      let visit = Visit(index: index, isPartial: isPartial)
      if let decision = self.decisions[visit] { return decision }
      guard depth <= Self.maximumDepth else { return .undecided }
      self.decisions[visit] = .undecided
      let decision = self.read(self.chains[index], isPartial: isPartial, depth: depth)
      self.decisions[visit] = decision
      return decision
    }

    private mutating func read(_ chain: Chain, isPartial: Bool, depth: Int) -> Decision {
      // Whether a rule for some machines may have left the chain, which may be met by all.
      var mayLeave = false
      for rule in chain.rules where rule.matches(self.port, self.transport) {
        var decision = Decision.undecided
        switch rule.action {
        case .accept: decision = .accept
        case .drop: decision = isPartial ? .undecided : .drop
        case .leave where rule.isPartial: mayLeave = true
        case .leave: return .undecided
        case .jump(let name):
          decision = self.decision(of: name, in: chain, isPartial: isPartial || rule.isPartial, depth: depth)
        case .goTo(let name):
          decision = self.decision(of: name, in: chain, isPartial: isPartial || rule.isPartial, depth: depth)
          guard decision == .undecided else { break }
          guard rule.isPartial else { return .undecided }
          // A chain that drops what comes to its end has no way out.
          let whole = self.decision(of: name, in: chain, isPartial: isPartial, depth: depth)
          if whole != .drop { mayLeave = true }
        }
        switch decision {
        case .accept: return .accept
        case .drop: return mayLeave ? .undecided : .drop
        case .undecided: continue
        }
      }
      return .undecided
    }

    /// The decision of a chain that another one leads to.
    private mutating func decision(of name: String, in chain: Chain, isPartial: Bool, depth: Int) -> Decision {
      let place = Place(family: chain.family, table: chain.table, name: name)
      guard let index = self.indices[place] else { return .accept }
      return self.decision(of: index, isPartial: isPartial, depth: depth + 1)
    }
  }
}
