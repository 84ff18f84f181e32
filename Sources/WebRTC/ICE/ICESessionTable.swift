package import Authentication
package import Media

/// Finds the session of a datagram on the port that all sessions share: of a check by the username fragment, of the response to a
/// check by the session's number, of all else by an address that the session has proved, or that a check of it came from.
///
/// Bounded in every direction: sessions of viewers in total, those that one client's network opened. When it is full, a session
/// displaces the least useful one of the network that has the most, as connections do. Sessions of publishers, which have a
/// token and of which a stream has one, are not counted. The addresses of a session are bounded by its agent.
package struct ICESessionTable<ID: Hashable & Sendable>: Sendable {
  private struct Session {
    var usernameFragments: [String]
    let number: UInt32
    /// Place among those that are counted, and the client's network; nil of a publisher.
    var place: (connection: ConnectionTable.ID, network: IPAddress)?
    var addresses: [TransportAddress] = []
  }

  /// The session that an address belongs to.
  private struct Owner {
    var id: ID
    /// Time of the last proof of the address; nil for one that a check came from, as it says.
    var proofTime: MediaTime?
    /// The session that has proved the address last, while it belonged to this one.
    var claimant: ID?
  }

  /// A session that was added.
  package struct Addition: Sendable {
    /// Number of the session, with which responses to its checks begin.
    package let number: UInt32
    /// The session that it displaces, which must be closed.
    package let displaced: ID?
  }

  /// Reasons why a session is not added.
  package enum Refusal: Error, Hashable, Sendable {
    /// The table is full, and the client's network has the most sessions, all of them connected.
    case tooManySessions
    /// The client's network has too many sessions.
    case tooManySessionsOfClient
    /// The username fragment is in use; another one must be made.
    case usernameFragmentInUse
  }

  /// Maximum number of sessions at a time, over all clients.
  package let maximumCount: Int
  /// Maximum number of sessions of one IPv4 address or IPv6 network of 64 bits.
  package let maximumCountPerClient: Int
  /// Time without a proof after which an address may belong to another session: a client behind a NAT may get the port that
  /// another one had.
  package static var ownership: MediaDuration { .seconds(10) }

  private var sessions: [ID: Session] = [:]
  private var idsByFragment: [String: ID] = [:]
  private var idsByNumber: [UInt32: ID] = [:]
  private var idsByConnection: [ConnectionTable.ID: ID] = [:]
  private var owners: [TransportAddress: Owner] = [:]
  private var countsByNetwork: [IPAddress: Int] = [:]
  private var connections: ConnectionTable
  private var lastNumber: UInt32 = 0

  /// An empty table with its bounds.
  package init(maximumCount: Int, maximumCountPerClient: Int) {
    self.maximumCount = maximumCount
    self.maximumCountPerClient = maximumCountPerClient
    self.connections = ConnectionTable(maximumCount: maximumCount)
  }

  /// Current number of sessions, connected or not.
  package var count: Int { self.sessions.count }

  /// Adds the session of a publisher, as ``add(_:usernameFragment:client:)``.
  ///
  /// - Returns: Number of the session.
  package mutating func addPublisher(_ id: ID, usernameFragment: String) throws(Refusal) -> UInt32 {
    precondition(self.sessions[id] == nil, "a session is added once")
    guard self.idsByFragment[usernameFragment] == nil else { throw .usernameFragmentInUse }
    return self.insert(id, usernameFragment: usernameFragment)
  }

  private mutating func insert(_ id: ID, usernameFragment: String) -> UInt32 {
    repeat { self.lastNumber &+= 1 } while self.idsByNumber[self.lastNumber] != nil
    self.sessions[id] = Session(usernameFragments: [usernameFragment], number: self.lastNumber)
    self.idsByFragment[usernameFragment] = id
    self.idsByNumber[self.lastNumber] = id
    return self.lastNumber
  }

  /// Adds the session of a viewer before its answer is sent: its first check may arrive before the answer does.
  ///
  /// - Parameter client: Where the session was requested from.
  package mutating func add(_ id: ID, usernameFragment: String, client: IPAddress) throws(Refusal) -> Addition {
    precondition(self.sessions[id] == nil, "a session is added once")
    let network = client.network
    guard self.countsByNetwork[network, default: 0] < self.maximumCountPerClient else {
      throw .tooManySessionsOfClient
    }
    guard self.idsByFragment[usernameFragment] == nil else { throw .usernameFragmentInUse }
    guard case .admitted(let connection, let closing) = self.connections.add(network) else { throw .tooManySessions }
    let number = self.insert(id, usernameFragment: usernameFragment)
    self.sessions[id]?.place = (connection, network)
    self.idsByConnection[connection] = id
    self.countsByNetwork[network, default: 0] += 1
    return Addition(number: number, displaced: closing.flatMap { self.idsByConnection[$0] })
  }

  /// Changes how useful a session is: those that are not connected are displaced first.
  package mutating func setUse(_ use: ConnectionTable.Use, of id: ID) {
    guard let place = self.sessions[id]?.place else { return }
    self.connections.setUse(use, of: place.connection)
  }

  /// Gives a session another username fragment, at an ICE restart. Checks with the previous one find it too.
  package mutating func restart(_ id: ID, usernameFragment: String) throws(Refusal) {
    guard var session = self.sessions[id] else { return }
    guard self.idsByFragment[usernameFragment] == nil else { throw .usernameFragmentInUse }
    if session.usernameFragments.count == 2 { self.idsByFragment[session.usernameFragments.removeFirst()] = nil }
    session.usernameFragments.append(usernameFragment)
    self.sessions[id] = session
    self.idsByFragment[usernameFragment] = id
  }

  /// The session of a STUN message: of a request that of its username, `receiver:sender`, without one that of its source; of a
  /// response that of the request.
  package func session(for message: STUNMessage, from source: TransportAddress) -> ID? {
    guard message.messageClass == .request || message.messageClass == .indication else {
      return self.idsByNumber[message.transactionID.head]
    }
    guard let username = message.username else { return self.session(at: source) }
    let fragment = username.utf8.prefix { $0 != UInt8(ascii: ":") }
    return self.idsByFragment[String(decoding: fragment, as: UTF8.self)]
  }

  /// The session of a datagram that is not STUN.
  package func session(at source: TransportAddress) -> ID? {
    self.owners[source]?.id
  }

  /// Gives an address to a session that has proved it, unless another session has proved it within ``ownership``: then as soon as
  /// that one ends, or the session proves it again later.
  ///
  /// - Returns: Whether the address belongs to the session.
  @discardableResult
  package mutating func bind(_ address: TransportAddress, to id: ID, at now: MediaTime) -> Bool {
    guard self.sessions[id] != nil else { return false }
    if let owner = self.owners[address], owner.id != id {
      if let proof = owner.proofTime, now - proof < Self.ownership {
        self.owners[address]?.claimant = id
        return false
      }
      self.sessions[owner.id]?.addresses.removeAll { $0 == address }
    }
    if self.owners[address]?.id != id { self.sessions[id]?.addresses.append(address) }
    self.owners[address] = Owner(id: id, proofTime: now, claimant: self.owners[address]?.claimant)
    return true
  }

  /// Gives an address to a session that a check of it says that it came from, unless another one has proved it: its handshake may
  /// overtake the proof. The session sends nothing there.
  package mutating func expect(_ address: TransportAddress, of id: ID) {
    guard self.sessions[id] != nil else { return }
    if let owner = self.owners[address] {
      guard owner.proofTime == nil, owner.id != id else { return }
      self.sessions[owner.id]?.addresses.removeAll { $0 == address }
    }
    self.sessions[id]?.addresses.append(address)
    self.owners[address] = Owner(id: id)
  }

  /// Removes an address from a session, or its claim where the address belongs to another one.
  package mutating func unbind(_ address: TransportAddress, from id: ID) {
    guard self.owners[address]?.id == id else {
      if self.owners[address]?.claimant == id { self.owners[address]?.claimant = nil }
      return
    }
    self.release(address)
    self.sessions[id]?.addresses.removeAll { $0 == address }
  }

  /// Gives an address to the session that has claimed it, if there is one.
  private mutating func release(_ address: TransportAddress) {
    guard let owner = self.owners.removeValue(forKey: address), let claimant = owner.claimant, claimant != owner.id,
      self.sessions[claimant] != nil
    else { return }
    self.sessions[claimant]?.addresses.append(address)
    self.owners[address] = Owner(id: claimant)
  }

  /// Removes a session with its addresses; without effect for an unknown one.
  package mutating func remove(_ id: ID) {
    guard let session = self.sessions.removeValue(forKey: id) else { return }
    for fragment in session.usernameFragments { self.idsByFragment[fragment] = nil }
    for address in session.addresses { self.release(address) }
    self.idsByNumber[session.number] = nil
    guard let place = session.place else { return }
    self.idsByConnection[place.connection] = nil
    self.connections.remove(place.connection)
    let count = self.countsByNetwork[place.network, default: 1] - 1
    self.countsByNetwork[place.network] = count == 0 ? nil : count
  }
}
