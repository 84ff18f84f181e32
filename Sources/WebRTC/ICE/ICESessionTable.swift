package import Authentication

/// Finds the session of a datagram on the port that all sessions share: of STUN by the username fragment, of all else by the
/// address that a check made known.
///
/// Bounded in every direction: sessions in total, sessions that one client's network opened, addresses of a session.
package struct ICESessionTable<ID: Hashable & Sendable>: Sendable {
  private struct Session {
    var usernameFragments: [String]
    var addresses: [TransportAddress] = []
    var clientNetwork: IPAddress
  }

  /// Reasons why a session is not added.
  package enum Refusal: Error, Hashable, Sendable {
    /// The table is full.
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
  /// Maximum number of addresses of a session; the first one is forgotten.
  package static var maximumAddressCount: Int { ICELiteAgent.maximumValidAddressCount }

  private var sessions: [ID: Session] = [:]
  private var idsByFragment: [String: ID] = [:]
  private var idsByAddress: [TransportAddress: ID] = [:]
  private var countsByNetwork: [IPAddress: Int] = [:]

  /// An empty table with its bounds.
  package init(maximumCount: Int, maximumCountPerClient: Int) {
    self.maximumCount = maximumCount
    self.maximumCountPerClient = maximumCountPerClient
  }

  /// Current number of sessions, connected or not.
  package var count: Int { self.sessions.count }

  /// Adds a session before its answer is sent: its first check may arrive before the answer does.
  ///
  /// - Parameter client: Where the session was requested from.
  package mutating func add(_ id: ID, usernameFragment: String, client: IPAddress) throws(Refusal) {
    precondition(self.sessions[id] == nil, "a session is added once")
    guard self.sessions.count < self.maximumCount else { throw .tooManySessions }
    let network = client.network
    guard self.countsByNetwork[network, default: 0] < self.maximumCountPerClient else {
      throw .tooManySessionsOfClient
    }
    guard self.idsByFragment[usernameFragment] == nil else { throw .usernameFragmentInUse }
    self.sessions[id] = Session(usernameFragments: [usernameFragment], clientNetwork: network)
    self.idsByFragment[usernameFragment] = id
    self.countsByNetwork[network, default: 0] += 1
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

  /// The session of a STUN message: that of its username, `receiver:sender`; without one that of its source.
  package func session(for message: STUNMessage, from source: TransportAddress) -> ID? {
    guard let username = message.username else { return self.idsByAddress[source] }
    let fragment = username.utf8.prefix { $0 != UInt8(ascii: ":") }
    return self.idsByFragment[String(decoding: fragment, as: UTF8.self)]
  }

  /// The session of a datagram that is not STUN.
  package func session(at source: TransportAddress) -> ID? {
    self.idsByAddress[source]
  }

  /// Makes an address known after an authentic check of a session. An address that another session had becomes this one's: a
  /// client behind a NAT may get the port that another one had.
  package mutating func bind(_ address: TransportAddress, to id: ID) {
    guard self.sessions[id] != nil, self.idsByAddress[address] != id else { return }
    if let previous = self.idsByAddress[address] {
      self.sessions[previous]?.addresses.removeAll { $0 == address }
    }
    if self.sessions[id]?.addresses.count == Self.maximumAddressCount,
      let oldest = self.sessions[id]?.addresses.removeFirst()
    {
      self.idsByAddress[oldest] = nil
    }
    self.sessions[id]?.addresses.append(address)
    self.idsByAddress[address] = id
  }

  /// Removes a session with its addresses; without effect for an unknown one.
  package mutating func remove(_ id: ID) {
    guard let session = self.sessions.removeValue(forKey: id) else { return }
    for fragment in session.usernameFragments { self.idsByFragment[fragment] = nil }
    for address in session.addresses { self.idsByAddress[address] = nil }
    let count = self.countsByNetwork[session.clientNetwork, default: 1] - 1
    self.countsByNetwork[session.clientNetwork] = count == 0 ? nil : count
  }
}
