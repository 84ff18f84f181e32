/// The open connections of all protocols by client network, and the choice of the one to close when there are too many.
///
/// A network is an IPv4 address or the first 64 bits of an IPv6 address (``IPAddress/network``): hosts choose freely among
/// the addresses of those. nil stands for all clients without an IP address.
///
/// When the table is full, a new connection displaces another one: the least useful connection of the network that has the
/// most connections, the new one included. So a client that opens thousands closes its own. Pure: connections are numbers,
/// and the order of calls is the only time.
///
/// Every operation takes constant time, except for the choice among several networks with equally many connections, of
/// which at most ``maximumComparedNetworks`` are compared.
package struct ConnectionTable: Sendable {
  /// Purpose of a connection, in the order in which connections are given up.
  package enum Use: Int, Comparable, CaseIterable, Sendable {
    /// No complete request, or no RTSP session, yet.
    case unused
    /// Requests were answered, none is open.
    case idle
    /// Server-sent events.
    case events
    /// Motion JPEG.
    case motionJPEG
    /// A request whose response is not finished.
    case request
    /// An RTSP session that is set up or plays.
    case session

    /// Whether one use is less useful than another.
    package static func < (lhs: Use, rhs: Use) -> Bool { lhs.rawValue < rhs.rawValue }

    /// Whether a new connection of the same network displaces it.
    var yieldsToOwnNetwork: Bool { self < .request }
  }

  /// A registered connection; never equal to that of another connection.
  package struct ID: Hashable, Sendable {
    fileprivate var slot: Int
    fileprivate var generation: UInt64
  }

  /// Result of ``add(_:)``: whether a new connection stays, and which one it displaces.
  package enum Admission: Hashable, Sendable {
    /// The connection is registered; at the limit in place of another one, which must be closed and is not registered any
    /// more.
    case admitted(ID, closing: ID?)
    /// The connection must be closed: its network has the most connections, all of them in use.
    case refused
  }

  /// Maximum number of networks compared when several have equally many connections.
  static let maximumComparedNetworks = 64

  private struct Slot {
    var generation: UInt64
    var network: IPAddress?
    var use: Use
    /// Position in the order of all changes of use.
    var order: UInt64
    var previous: Int?
    var next: Int?
  }

  /// A list of slots, oldest first.
  private struct List {
    var first: Int?
    var last: Int?
  }

  private struct Network {
    var count = 0
    /// By `Use.rawValue`.
    var lists = [List](repeating: List(), count: Use.allCases.count)
  }

  /// Maximum number of connections, at least 1.
  package let maximumCount: Int
  /// Number of registered connections.
  package private(set) var count = 0
  private var slots: [Slot?] = []
  private var freeSlots: [Int] = []
  private var networks: [IPAddress?: Network] = [:]
  /// The networks by their number of connections, 1 or more.
  private var networksByCount: [Int: Set<IPAddress?>] = [:]
  /// Number of connections of the networks that have the most; 0 when there are none.
  private var largestCount = 0
  private var changes: UInt64 = 0

  /// Creates a table without connections; its maximum is at least 1.
  package init(maximumCount: Int) {
    self.maximumCount = max(1, maximumCount)
  }

  /// Number of connections of a network.
  package func count(of network: IPAddress?) -> Int {
    self.networks[network]?.count ?? 0
  }

  /// The use of a connection; nil when it is not registered.
  package func use(of id: ID) -> Use? {
    self.slot(of: id)?.use
  }

  /// Registers a connection as ``Use/unused``.
  package mutating func add(_ network: IPAddress?) -> Admission {
    guard self.count >= self.maximumCount else { return .admitted(self.insert(network), closing: nil) }
    let ownCount = self.count(of: network) + 1
    let isAmongLargest = ownCount >= self.largestCount
    guard
      let slot = self.evictionCandidate(newcomer: isAmongLargest ? Newcomer(network: network, count: ownCount) : nil),
      let use = self.slots[slot]?.use, !isAmongLargest || use.yieldsToOwnNetwork
    else { return .refused }
    let closing = self.removeSlot(slot)
    return .admitted(self.insert(network), closing: closing)
  }

  /// Changes the use of a connection; without effect when it is not registered.
  package mutating func setUse(_ use: Use, of id: ID) {
    guard let slot = self.slot(of: id), slot.use != use else { return }
    self.unlink(id.slot)
    self.slots[id.slot]?.use = use
    self.link(id.slot)
  }

  /// Counts a connection for another network: its proxy has named the client. Without effect when it is not registered.
  package mutating func setNetwork(_ network: IPAddress?, of id: ID) {
    guard let slot = self.slot(of: id), slot.network != network else { return }
    self.unlink(id.slot)
    self.changeCount(of: slot.network, by: -1)
    self.slots[id.slot]?.network = network
    self.changeCount(of: network, by: 1)
    self.link(id.slot)
  }

  /// Removes a connection; without effect when it is not registered.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  package mutating func remove(_ id: ID) -> Bool {
    guard self.slot(of: id) != nil else { return false }
    _ = self.removeSlot(id.slot)
    return true
  }

  /// Removes the least useful connection of the network with the most, because descriptors are used up.
  ///
  /// - Returns: The connection to close; nil when there is none that ``Use/request`` and ``Use/session`` do not protect.
  package mutating func evict() -> ID? {
    guard let slot = self.evictionCandidate(newcomer: nil),
      self.slots[slot]?.use.yieldsToOwnNetwork == true
    else { return nil }
    return self.removeSlot(slot)
  }
}

// MARK: Choice

extension ConnectionTable {
  /// A connection about to be added, whose network will then have the most connections: `count`.
  private struct Newcomer {
    var network: IPAddress?
    var count: Int
  }

  /// The slot to displace.
  private func evictionCandidate(newcomer: Newcomer?) -> Int? {
    var candidates: [Int] = []
    if newcomer == nil || newcomer?.count == self.largestCount {
      candidates = (self.networksByCount[self.largestCount] ?? []).prefix(Self.maximumComparedNetworks)
        .compactMap { self.evictionCandidate(of: $0) }
    }
    if let newcomer, let slot = self.evictionCandidate(of: newcomer.network) { candidates.append(slot) }
    return candidates.min { self.rank(of: $0) < self.rank(of: $1) }
  }

  /// The oldest slot of the least useful kind that a network has.
  private func evictionCandidate(of network: IPAddress?) -> Int? {
    self.networks[network]?.lists.lazy.compactMap(\.first).first
  }

  private func rank(of slot: Int) -> (Int, UInt64) {
    // Safe to default because the slots of lists are in use.
    self.slots[slot].map { ($0.use.rawValue, $0.order) } ?? (.max, .max)
  }

  private func slot(of id: ID) -> Slot? {
    guard self.slots.indices.contains(id.slot), let slot = self.slots[id.slot], slot.generation == id.generation else {
      return nil
    }
    return slot
  }
}

// MARK: Lists

extension ConnectionTable {
  private mutating func insert(_ network: IPAddress?) -> ID {
    self.changes += 1
    let slot = Slot(generation: self.changes, network: network, use: .unused, order: self.changes)
    let index: Int
    if let free = self.freeSlots.popLast() {
      index = free
      self.slots[free] = slot
    } else {
      index = self.slots.count
      self.slots.append(slot)
    }
    self.count += 1
    self.changeCount(of: network, by: 1)
    self.link(index)
    return ID(slot: index, generation: slot.generation)
  }

  private mutating func removeSlot(_ index: Int) -> ID? {
    guard let slot = self.slots[index] else { return nil }
    self.unlink(index)
    self.slots[index] = nil
    self.freeSlots.append(index)
    self.count -= 1
    self.changeCount(of: slot.network, by: -1)
    return ID(slot: index, generation: slot.generation)
  }

  private mutating func changeCount(of network: IPAddress?, by change: Int) {
    let earlier = self.count(of: network)
    let count = earlier + change
    self.networksByCount[earlier]?.remove(network)
    if self.networksByCount[earlier]?.isEmpty == true { self.networksByCount[earlier] = nil }
    if count > 0 {
      self.networksByCount[count, default: []].insert(network)
      self.networks[network, default: Network()].count = count
    } else {
      self.networks[network] = nil
    }
    if count > self.largestCount || (earlier == self.largestCount && self.networksByCount[earlier] == nil) {
      self.largestCount = count
    }
  }

  /// Appends a slot to the list of its network and use.
  private mutating func link(_ index: Int) {
    guard var slot = self.slots[index] else { return }
    self.changes += 1
    slot.order = self.changes
    let last = self.networks[slot.network]?.lists[slot.use.rawValue].last
    (slot.previous, slot.next) = (last, nil)
    if let last {
      self.slots[last]?.next = index
    } else {
      self.networks[slot.network]?.lists[slot.use.rawValue].first = index
    }
    self.networks[slot.network]?.lists[slot.use.rawValue].last = index
    self.slots[index] = slot
  }

  /// Removes a slot from its list.
  private mutating func unlink(_ index: Int) {
    guard let slot = self.slots[index] else { return }
    if let previous = slot.previous {
      self.slots[previous]?.next = slot.next
    } else {
      self.networks[slot.network]?.lists[slot.use.rawValue].first = slot.next
    }
    if let next = slot.next {
      self.slots[next]?.previous = slot.previous
    } else {
      self.networks[slot.network]?.lists[slot.use.rawValue].last = slot.previous
    }
  }
}
