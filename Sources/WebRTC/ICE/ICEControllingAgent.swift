package import Media
package import NIOCore

/// ICE of a client that pushes to a server: a full agent in the controlling role, RFC 8445, with one socket and one component.
///
/// ```
///             success of a check           success with USE-CANDIDATE
///   checking ───────────────────▶ nominating ─────────────────────────▶ selected (consent, RFC 7675)
///      │ 15 s                         │ 15 s                                │ 30 s without a success
///      └──────────────▶ failed ◀──────┴─────────────────────────────────────┘
/// ```
///
/// One socket has one base, so there is a pair for each remote candidate. They are checked by priority, one each 50 ms; the first
/// one that succeeds is nominated. A server that is a full agent checks too, which adds the address that it checks from. Pure:
/// time and random bits are arguments. The caller passes each STUN message to ``handle(_:from:at:)``, and calls
/// ``handleTimeout(at:makeRandom:)`` at ``nextDeadline``.
package struct ICEControllingAgent: Sendable {
  /// Step of the caller after a message or a timeout.
  package enum Output: Hashable, Sendable {
    /// A datagram to send.
    case send(ByteBuffer, to: TransportAddress)
    /// DTLS and media go there from now on.
    case selected(TransportAddress)
    /// No pair works, or the server has not answered for long; nothing follows.
    case failed
  }

  /// A remote candidate, and the check that is sent to it.
  private struct Pair {
    let address: TransportAddress
    let priority: UInt32
    /// The transaction of the last check that is not answered.
    var transactionID: STUNTransactionID?
    /// Number of times that this transaction was sent.
    var sendCount = 0
    /// Number of errors that the server answered, after which the check is sent again.
    var errorCount = 0
    /// Time at which the check is sent, or sent again; nil when it is answered or given up.
    var nextSend: MediaTime?
    var hasSucceeded = false
    /// Whether the check has USE-CANDIDATE.
    var nominates = false
  }

  /// Ta: time between two new checks, RFC 8445 §14.2.
  package static let checkInterval = MediaDuration.milliseconds(50)
  /// RTO: time before a check is sent again, RFC 8445 §14.3; it doubles each time.
  package static let retransmissionTimeout = MediaDuration.milliseconds(500)
  /// Number of times that a check is sent; 0.5, 1, 2 and 4 s apart.
  private static let maximumSendCount = 5
  /// Time from the start to a selected pair.
  package static let selectionTimeout = MediaDuration.seconds(15)
  /// Mean time between two consent checks, RFC 7675 §5.1; each is 0.8 to 1.2 times as long.
  private static let consentInterval = MediaDuration.seconds(5)
  /// Time without a successful check after which consent ends, RFC 7675 §5.1.
  package static let consentTimeout = MediaDuration.seconds(30)
  /// Maximum number of pairs, RFC 8445 §6.1.2.5 has 100.
  package static let maximumPairCount = 32

  private let local: ICECredentials
  private let remote: ICECredentials
  private let localKey: STUNKey
  private let remoteKey: STUNKey
  private let tieBreaker: UInt64
  /// Priority of a peer-reflexive candidate that a check may find, RFC 8445 §7.1.1.
  private static let reflexivePriority: UInt32 = 110 << 24 | 65_535 << 8 | 255

  /// Candidate pairs in descending order of priority.
  private var pairs: [Pair] = []
  /// Time at which the next new check may be sent.
  private var nextCheck: MediaTime
  /// Time at which the agent fails, unless a check succeeds.
  private var failureTime: MediaTime
  private var isFinished = false
  /// Address for DTLS and media; nil before a nomination succeeded.
  package private(set) var selectedAddress: TransportAddress?
  /// Requests and responses that were not authentic, or that fit no check.
  package private(set) var refusedCount = 0

  /// Creates an agent that begins at once.
  ///
  /// - Parameters:
  ///   - candidates: Those of the server's answer; only UDP with numeric addresses is used, at most ``maximumPairCount``.
  ///   - tieBreaker: 64 random bits.
  package init(
    local: ICECredentials, remote: ICECredentials, candidates: [ICECandidate], tieBreaker: UInt64, at now: MediaTime
  ) {
    self.local = local
    self.remote = remote
    self.localKey = STUNKey(password: local.password)
    self.remoteKey = STUNKey(password: remote.password)
    self.tieBreaker = tieBreaker
    self.nextCheck = now
    self.failureTime = now + Self.selectionTimeout
    for candidate in candidates where candidate.transport == "udp" && candidate.component == 1 {
      guard let address = candidate.address else { continue }
      self.insert(Pair(address: address, priority: candidate.priority, nextSend: now))
    }
  }

  /// Time at which ``handleTimeout(at:makeRandom:)`` is due; nil after the end.
  package var nextDeadline: MediaTime? {
    guard !self.isFinished else { return nil }
    let next = self.pairs.compactMap { pair in
      pair.nextSend.map { pair.transactionID == nil ? max($0, self.nextCheck) : $0 }
    }.min()
    return next.map { min($0, self.failureTime) } ?? self.failureTime
  }

  /// Whether a check of an address has succeeded: DTLS is accepted from there.
  package func isValid(_ address: TransportAddress) -> Bool {
    self.pairs.contains { $0.address == address && $0.hasSucceeded }
  }

  /// Adds a candidate that came later.
  package mutating func add(_ candidate: ICECandidate, at now: MediaTime) {
    guard candidate.transport == "udp", candidate.component == 1, let address = candidate.address else { return }
    self.insert(Pair(address: address, priority: candidate.priority, nextSend: now))
  }

  /// Sends checks that are due.
  ///
  /// - Parameter makeRandom: Makes 64 random bits, for transactions.
  package mutating func handleTimeout(at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    guard !self.isFinished else { return [] }
    guard now < self.failureTime else {
      self.isFinished = true
      return [.failed]
    }
    var outputs: [Output] = []
    for index in self.pairs.indices {
      guard let due = self.pairs[index].nextSend, due <= now else { continue }
      if self.pairs[index].transactionID == nil {
        // New checks are paced; those of the selected pair are alone.
        guard now >= self.nextCheck else { continue }
        self.nextCheck = now + Self.checkInterval
        self.pairs[index].transactionID = STUNTransactionID(
          UInt32(truncatingIfNeeded: makeRandom()), makeRandom())
        self.pairs[index].sendCount = 0
      } else if self.pairs[index].sendCount >= Self.maximumSendCount {
        self.failCheck(index, at: now)
        continue
      }
      outputs.append(self.send(index, at: now))
    }
    return outputs
  }

  /// Processes a STUN message: responses to our checks, and the checks of a server that is a full agent.
  package mutating func handle(_ message: STUNMessage, from source: TransportAddress, at now: MediaTime) -> [Output] {
    guard !self.isFinished, message.method == STUNMessage.binding else { return [] }
    switch message.messageClass {
    case .request: return self.handleRequest(message, from: source, at: now)
    case .success: return self.handleSuccess(message, from: source, at: now)
    case .error:
      if let index = self.pair(of: message, from: source), message.isAuthentic(with: self.remoteKey) {
        self.handleError(message, of: index, at: now)
      } else {
        self.refusedCount += 1
      }
      return []
    case .indication: return []
    }
  }

  // MARK: Checks of ours

  private mutating func insert(_ pair: Pair) {
    guard self.pairs.count < Self.maximumPairCount, !self.pairs.contains(where: { $0.address == pair.address }) else {
      return
    }
    let index = self.pairs.firstIndex { $0.priority < pair.priority } ?? self.pairs.count
    self.pairs.insert(pair, at: index)
  }

  private mutating func send(_ index: Int, at now: MediaTime) -> Output {
    let timeout = Self.retransmissionTimeout * (1 << Int64(self.pairs[index].sendCount))
    self.pairs[index].sendCount += 1
    self.pairs[index].nextSend = now + timeout
    var attributes: [STUNAttribute] = [
      .username("\(self.remote.usernameFragment):\(self.local.usernameFragment)"), .iceControlling(self.tieBreaker),
      .priority(Self.reflexivePriority),
    ]
    if self.pairs[index].nominates { attributes.append(.useCandidate) }
    var buffer = ByteBuffer()
    // No trap: a check that is sent has a transaction.
    STUNMessage(.request, transactionID: self.pairs[index].transactionID!, attributes: attributes)
      .serialize(into: &buffer, key: self.remoteKey)
    return .send(buffer, to: self.pairs[index].address)
  }

  /// Ends a check without a response. The selected pair is checked again, until consent ends.
  private mutating func failCheck(_ index: Int, at now: MediaTime) {
    self.pairs[index].transactionID = nil
    let isSelected = self.pairs[index].address == self.selectedAddress
    self.pairs[index].nextSend = isSelected ? now : nil
    guard self.pairs[index].nominates, !isSelected else { return }
    // The nominated pair does not work any more: the next one that does is nominated.
    self.pairs[index].nominates = false
    self.pairs[index].hasSucceeded = false
    if let other = self.pairs.firstIndex(where: \.hasSucceeded) { self.nominate(other, at: now) }
  }

  /// Sends a check again that a server has answered with an error, or gives its pair up. A role conflict, and an error of its own, may be over at the next check; others are answers.
  private mutating func handleError(_ message: STUNMessage, of index: Int, at now: MediaTime) {
    let code = message.attributes.lazy.compactMap { if case .errorCode(let code, _) = $0 { code } else { nil } }.first
    self.pairs[index].errorCount += 1
    let mayPass = code.map { $0 == 487 || $0 >= 500 } ?? false
    if self.pairs[index].address == self.selectedAddress {
      self.pairs[index].transactionID = nil
      self.pairs[index].nextSend = now + Self.consentInterval
    } else if mayPass, self.pairs[index].errorCount < Self.maximumSendCount {
      self.pairs[index].transactionID = nil
      self.pairs[index].nextSend = now + Self.retransmissionTimeout
    } else {
      self.failCheck(index, at: now)
    }
  }

  private func pair(of response: STUNMessage, from source: TransportAddress) -> Int? {
    // The response must come from where the check went, RFC 8445 §7.2.5.2.1.
    self.pairs.firstIndex { $0.transactionID == response.transactionID && $0.address == source }
  }

  private mutating func handleSuccess(
    _ message: STUNMessage, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard let index = self.pair(of: message, from: source), message.isAuthentic(with: self.remoteKey) else {
      self.refusedCount += 1
      return []
    }
    let transaction = self.pairs[index].transactionID
    self.pairs[index].transactionID = nil
    self.pairs[index].hasSucceeded = true
    self.pairs[index].nextSend = nil
    if self.pairs[index].nominates {
      self.failureTime = now + Self.consentTimeout
      // 0.8 to 1.2 of the interval, from the transaction's random bits.
      let share = Int64((transaction?.tail ?? 0) % 401) + 800
      self.pairs[index].nextSend = now + Self.consentInterval * share / 1000
      guard self.selectedAddress == nil else { return [] }
      self.selectedAddress = source
      // The other checks end, RFC 8445 §8.1.2.
      for other in self.pairs.indices where other != index { self.pairs[other].nextSend = nil }
      return [.selected(source)]
    }
    if self.selectedAddress == nil, !self.pairs.contains(where: \.nominates) { self.nominate(index, at: now) }
    return []
  }

  private mutating func nominate(_ index: Int, at now: MediaTime) {
    self.pairs[index].nominates = true
    self.pairs[index].transactionID = nil
    self.pairs[index].nextSend = now
    self.nextCheck = now
  }

  // MARK: Checks of the server

  private mutating func handleRequest(
    _ message: STUNMessage, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard let username = message.username, message.isAuthentic(with: self.localKey),
      username == "\(self.local.usernameFragment):\(self.remote.usernameFragment)",
      message.unknownRequiredAttributes.isEmpty
    else {
      self.refusedCount += 1
      return []
    }
    var attributes: [STUNAttribute] = [.xorMappedAddress(source)]
    var messageClass = STUNMessage.Class.success
    // The side that offers is controlling; a server that says the same must change its role, RFC 8445 §7.3.1.1.
    if message.attributes.contains(where: { if case .iceControlling = $0 { true } else { false } }) {
      (messageClass, attributes) = (.error, [.errorCode(487, reason: "Role Conflict")])
    }
    var buffer = ByteBuffer()
    STUNMessage(messageClass, transactionID: message.transactionID, attributes: attributes)
      .serialize(into: &buffer, key: self.localKey)
    // A triggered check, RFC 8445 §7.3.1.4; of an address that no candidate has, too.
    if messageClass == .success, self.selectedAddress == nil {
      var priority = Self.reflexivePriority
      for attribute in message.attributes { if case .priority(let value) = attribute { priority = value } }
      self.insert(Pair(address: source, priority: priority, nextSend: now))
      if let index = self.pairs.firstIndex(where: { $0.address == source }), !self.pairs[index].hasSucceeded,
        self.pairs[index].transactionID == nil
      {
        self.pairs[index].nextSend = now
      }
    }
    return [.send(buffer, to: source)]
  }
}
