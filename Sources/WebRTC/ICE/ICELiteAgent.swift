package import Media
package import NIOCore

/// ICE of a server that its clients can reach: a lite agent, RFC 8445 §2.5, which answers connectivity checks and never looks for
/// pairs, and which checks the addresses that its client checks from.
///
/// ```
///            check of a client             our check is answered         nomination, or end of DTLS there
///   waiting ───────────────────▶ proving ────────────────────────▶ proven ───────────────────────────▶ selected
///      │ 30 s                                                        ▲                                    │ 20 s without consent
///      └──────────────▶ expired ◀── no restart ── nothing selected ◀─┴────────────────────────────────────┘
/// ```
///
/// A check shows that its sender knows the session's password, which the client itself does: it could be sent with the address of
/// another machine as its source. Media and DTLS therefore go only to addresses at which the client has received: that have answered a
/// check with 64 random bits, or are of a TCP connection. Until then an address gets at most three times the bytes that came from
/// it, as in RFC 9000 §8.1; within that, checks are repeated. An answered check is also the client's consent, RFC 7675: of the
/// selected address it is asked for every five seconds.
package struct ICELiteAgent: Sendable {
  /// Step of the caller after a message or a timeout.
  package enum Output: Hashable, Sendable {
    /// A datagram to send.
    case send(ByteBuffer, to: TransportAddress)
    /// The client has checked from an address for the first time, which is not proven yet.
    case checked(TransportAddress)
    /// The client has proved that it receives at an address: datagrams from there belong to the session. Repeated with each proof.
    case valid(TransportAddress)
    /// Datagrams of an address do not belong to the session any more.
    case invalid(TransportAddress)
    /// Media goes to another address from now on.
    case selected(TransportAddress)
    /// A message was refused or ignored.
    case refused
    /// The peer does not respond; nothing follows.
    case expired
  }

  /// A check that was answered.
  private struct Check: Hashable {
    var transactionID: STUNTransactionID
    var source: TransportAddress
  }

  /// An address of the client.
  private struct Path {
    let address: TransportAddress
    /// Bytes received from it and sent to it while it was not proven.
    var receivedByteCount = 0
    var sentByteCount = 0
    /// Our check that is not answered, and when it was sent last.
    var transactionID: STUNTransactionID?
    var checkTime: MediaTime?
    /// Number of times that the check was sent.
    var sendCount = 0
    /// Time at which a check is sent, the same one again or the next; nil where none is due.
    var nextCheck: MediaTime?
    /// Time of the last answered check.
    var proofTime: MediaTime?
    /// Whether the client's last nomination came from there.
    var isNominated = false
  }

  /// Time from the offer, or from a restart, to the selection of an address, after which a session ends.
  package static let checkTimeout = MediaDuration.seconds(30)
  /// Time without an answered check of the selected address after which the client's consent ends. RFC 7675 §5.1 allows 30 s.
  package static let consentTimeout = MediaDuration.seconds(20)
  /// Mean time between two checks of the selected address, RFC 7675 §5.1; each is 0.8 to 1.2 times as long.
  package static let consentInterval = MediaDuration.seconds(5)
  /// Time for which a proof of an address that is not selected holds.
  package static let proofLifetime = MediaDuration.seconds(30)
  /// Maximum number of addresses; the one that is not selected and whose check is the oldest is dropped. Each is a pair with an
  /// address of this machine: a client of two networks that checks all sixteen candidates of an answer has 32.
  package static let maximumAddressCount = 32
  /// Time after which a check of the selected address that is not answered is sent again.
  private static let retransmissionTimeout = MediaDuration.milliseconds(500)
  /// Time after which the first check of another address that is not answered is sent again; the others follow at twice the time.
  private static let provingInterval = MediaDuration.milliseconds(100)
  /// Number of times that a check is sent: then follows the next one of the selected address, and none of others.
  private static let maximumSendCount = 4
  /// Number of bytes that an address without proof is sent for each that came from it.
  private static let amplificationLimit = 3
  /// Number of transactions whose repetition from another address is detected.
  private static let checkHistoryLength = 64
  /// Priority of our checks: that of a host candidate, RFC 8445 §5.1.2.1.
  private static let priority: UInt32 = 126 << 24 | 65_535 << 8 | 255

  /// The credentials that checks must have.
  package private(set) var credentials: ICECredentials
  private var key: STUNKey
  /// The client's credentials, which our checks have.
  private var client: ICECredentials
  private var clientKey: STUNKey
  /// Number of the session, which responses to its checks begin with.
  private let number: UInt32
  /// Addresses that sent an authentic check, the last one at the end.
  private var paths: [Path] = []
  /// Proven address that the client nominated, or ended its handshake at; nil before, and without consent. Media goes there.
  package private(set) var selectedAddress: TransportAddress?
  /// Time at which the session ends, unless the client proves something.
  private var deadline: MediaTime
  /// Time at which the consent for the selected address ends.
  private var consentDeadline: MediaTime?
  /// Whether a restart has prolonged the session since the last proof: further ones do not.
  private var isProlonged = false
  /// Time of the first check that is due.
  private var nextCheck: MediaTime?
  /// Number of connectivity checks whose integrity was verified.
  package private(set) var checkCount = 0
  /// Number of messages that were refused or ignored.
  package private(set) var refusedCheckCount = 0
  private var recentChecks: [Check] = []

  /// An agent that waits for checks.
  ///
  /// - Parameters:
  ///   - credentials: The server's, as answered.
  ///   - client: The client's, as offered.
  ///   - number: Number of the session among those that share a port.
  package init(credentials: ICECredentials, client: ICECredentials, number: UInt32, at now: MediaTime) {
    self.credentials = credentials
    self.key = STUNKey(password: credentials.password)
    self.client = client
    self.clientKey = STUNKey(password: client.password)
    self.number = number
    self.deadline = now + Self.checkTimeout
  }

  /// Time at which ``handleTimeout(at:makeRandom:)`` is due.
  package var nextDeadline: MediaTime {
    var deadline = self.deadline
    if let nextCheck { deadline = min(deadline, nextCheck) }
    if let consentDeadline { deadline = min(deadline, consentDeadline) }
    return deadline
  }

  /// Whether the client has proved that it receives at an address: DTLS and media are accepted from there, and answered to there.
  package func isValid(_ address: TransportAddress, at now: MediaTime) -> Bool {
    // Only a proven address is selected, and it stays in the list. Publishers' packets come from there.
    if address == self.selectedAddress { return true }
    return self.paths.first { $0.address == address }?.proofTime.map { now - $0 < Self.proofLifetime } ?? false
  }

  /// Whether the client has checked from an address, which may not be proven yet.
  package func isKnown(_ address: TransportAddress) -> Bool { self.paths.contains { $0.address == address } }

  /// Adopts new credentials of both sides, RFC 8445 §9. Media continues on the selected address until the client nominates another,
  /// as long as there is consent; the session has ``checkTimeout`` for that, once after each proof. Nominations of before count no
  /// more.
  package mutating func restart(credentials: ICECredentials, client: ICECredentials, at now: MediaTime) {
    self.credentials = credentials
    self.key = STUNKey(password: credentials.password)
    self.client = client
    self.clientKey = STUNKey(password: client.password)
    self.recentChecks = []
    for index in self.paths.indices {
      self.paths[index].transactionID = nil
      self.paths[index].isNominated = false
      if self.paths[index].address != self.selectedAddress { self.paths[index].nextCheck = nil }
    }
    self.updateNextCheck()
    guard !self.isProlonged else { return }
    self.isProlonged = true
    self.deadline = max(self.deadline, now + Self.checkTimeout)
  }

  /// Processes a STUN message: a check that was sent to this session's username fragment, or a response to one of ours.
  ///
  /// - Parameters:
  ///   - message: The parsed datagram.
  ///   - length: Length of the datagram in bytes, which an unauthenticated response does not exceed.
  ///   - source: Where it came from, and the response goes.
  ///   - makeRandom: Makes 64 random bits, for our checks.
  package mutating func handle(
    _ message: STUNMessage, length: Int, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    guard message.method == STUNMessage.binding else { return [.refused] }
    switch message.messageClass {
    case .request: return self.handleRequest(message, length: length, from: source, at: now, makeRandom: makeRandom)
    case .success: return self.handleSuccess(message, from: source, at: now, makeRandom: makeRandom)
    case .error, .indication: return [.refused]
    }
  }

  /// Counts a datagram of another protocol from an address that is not proven: it allows a check of that.
  package mutating func handleUnproven(
    byteCount: Int, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    guard let index = self.paths.firstIndex(where: { $0.address == source }) else { return [] }
    self.paths[index].receivedByteCount += byteCount
    return self.prove(index, at: now, makeRandom: makeRandom)
  }

  /// Selects a proven address at which the client has ended its handshake of DTLS, where it has nominated none: it uses that pair.
  ///
  /// libwebrtc nominates a pair of a lite agent with the check that follows the first response, RFC 8445 §8.1.1. Its first three
  /// checks are 50 ms apart, the fourth a second later: with a round trip of 150 ms or a lost response, media would wait for that.
  /// A nomination of another address replaces this; one that came before, and whose address is not proved yet, is waited for.
  package mutating func handleHandshake(
    at address: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    guard self.selectedAddress == nil, !self.paths.contains(where: \.isNominated),
      let index = self.paths.firstIndex(where: { $0.address == address }),
      // An older proof is asked for again first, by a nomination.
      let proof = self.paths[index].proofTime, now - proof < Self.consentInterval
    else { return [] }
    return self.select(index, at: now, makeRandom: makeRandom)
  }

  /// Records authentic media of a publisher: from the selected address it is consent to the reports that are sent there.
  @inline(__always)
  package mutating func handleMedia(from source: TransportAddress, at now: MediaTime) {
    guard source == self.selectedAddress else { return }
    self.consentDeadline = now + Self.consentTimeout
    self.deadline = max(self.deadline, now + Self.consentTimeout)
  }

  /// Sends the checks that are due, and ends a session whose client does not respond.
  package mutating func handleTimeout(at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    guard now < self.deadline else { return [.expired] }
    if let consentDeadline, consentDeadline <= now {
      // No more is sent there, unless the client answers a check again; a restart may find another address.
      for index in self.paths.indices where self.paths[index].address == self.selectedAddress {
        self.paths[index].nextCheck = nil
      }
      (self.selectedAddress, self.consentDeadline) = (nil, nil)
    }
    var outputs: [Output] = []
    for index in self.paths.indices {
      guard let due = self.paths[index].nextCheck, due <= now else { continue }
      if self.paths[index].sendCount >= Self.maximumSendCount { self.paths[index].transactionID = nil }
      outputs += self.check(index, at: now, makeRandom: makeRandom)
    }
    self.updateNextCheck()
    return outputs
  }

  private mutating func updateNextCheck() {
    self.nextCheck = self.paths.lazy.compactMap(\.nextCheck).min()
  }
}

// MARK: Checks of the client

extension ICELiteAgent {
  private mutating func handleRequest(
    _ message: STUNMessage, length: Int, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    guard let username = message.username, message.hasIntegrity else {
      return self.refuse(message, 400, "Bad Request", length: length, to: source)
    }
    guard
      username.utf8.prefix(while: { $0 != UInt8(ascii: ":") }).elementsEqual(self.credentials.usernameFragment.utf8),
      message.isAuthentic(with: self.key)
    else { return self.refuse(message, 401, "Unauthorized", length: length, to: source) }
    // An attacker on the path may send a check again from elsewhere, to have something sent there.
    let check = Check(transactionID: message.transactionID, source: source)
    if self.recentChecks.contains(where: { $0.transactionID == check.transactionID && $0.source != source }) {
      self.refusedCheckCount += 1
      return [.refused]
    }
    let unknown = message.unknownRequiredAttributes
    if !unknown.isEmpty {
      self.refusedCheckCount += 1
      return [
        .refused,
        .send(
          self.response(
            to: message, .error, [.errorCode(420, reason: "Unknown Attribute"), .unknownAttributes(unknown)]),
          to: source),
      ]
    }
    // A lite agent is always controlled, RFC 8445 §6.1.1; the client must change its role.
    if message.attributes.contains(where: { if case .iceControlled = $0 { true } else { false } }) {
      self.refusedCheckCount += 1
      return [
        .refused,
        .send(self.response(to: message, .error, [.errorCode(487, reason: "Role Conflict")]), to: source),
      ]
    }
    if self.recentChecks.count == Self.checkHistoryLength { self.recentChecks.removeFirst() }
    self.recentChecks.append(check)
    self.checkCount += 1
    var outputs = self.note(source)
    // No trap: the address was noted.
    let index = self.paths.count - 1
    self.paths[index].receivedByteCount += length
    let response = self.response(to: message, .success, [.xorMappedAddress(source)])
    guard self.mayBeSent(response.readableBytes, index) else { return outputs + [.refused] }
    outputs.append(.send(response, to: source))
    if source.isTCP, self.paths[index].proofTime == nil {
      // The connection's handshake has proved it.
      outputs += self.recordProof(index, at: now, makeRandom: makeRandom)
    }
    if message.nominates {
      for other in self.paths.indices { self.paths[other].isNominated = other == index }
      // A proof that is older is asked for again first.
      if let proof = self.paths[index].proofTime, now - proof < Self.consentInterval {
        outputs += self.select(index, at: now, makeRandom: makeRandom)
      }
    }
    return outputs + self.prove(index, at: now, makeRandom: makeRandom)
  }

  /// Checks an address that the client uses, where it is to be proved.
  private mutating func prove(_ index: Int, at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    let path = self.paths[index]
    guard path.address != self.selectedAddress else { return [] }
    if let proof = path.proofTime, now - proof < Self.consentInterval { return [] }
    if path.transactionID != nil, let last = path.checkTime, now - last < Self.provingInterval { return [] }
    // The repetitions begin again.
    self.paths[index].sendCount = 0
    defer { self.updateNextCheck() }
    return self.check(index, at: now, makeRandom: makeRandom)
  }

  /// Whether an address may be sent as many bytes more, which count as sent then.
  private mutating func mayBeSent(_ byteCount: Int, _ index: Int) -> Bool {
    guard self.paths[index].proofTime == nil else { return true }
    let limit = self.paths[index].receivedByteCount * Self.amplificationLimit
    guard self.paths[index].sentByteCount + byteCount <= limit else { return false }
    self.paths[index].sentByteCount += byteCount
    return true
  }

  /// Moves an address to the end of those that are known.
  private mutating func note(_ source: TransportAddress) -> [Output] {
    if let index = self.paths.firstIndex(where: { $0.address == source }) {
      self.paths.append(self.paths.remove(at: index))
      return []
    }
    var outputs: [Output] = []
    if self.paths.count == Self.maximumAddressCount {
      // The selected address stays, however long ago it was checked.
      let oldest = self.paths.firstIndex { $0.address != self.selectedAddress } ?? 0
      outputs.append(.invalid(self.paths.remove(at: oldest).address))
    }
    self.paths.append(Path(address: source))
    return outputs + [.checked(source)]
  }

  private func response(
    to request: STUNMessage, _ messageClass: STUNMessage.Class, _ attributes: [STUNAttribute]
  ) -> ByteBuffer {
    var buffer = ByteBuffer()
    STUNMessage(messageClass, transactionID: request.transactionID, attributes: attributes)
      .serialize(into: &buffer, key: self.key)
    return buffer
  }

  /// Refuses a request without credentials. Its source may be forged: a response that is longer than the request is not sent.
  private mutating func refuse(
    _ request: STUNMessage, _ code: UInt16, _ reason: String, length: Int, to source: TransportAddress
  ) -> [Output] {
    self.refusedCheckCount += 1
    var buffer = ByteBuffer()
    STUNMessage(.error, transactionID: request.transactionID, attributes: [.errorCode(code, reason: reason)])
      .serialize(into: &buffer)
    return buffer.readableBytes <= length ? [.refused, .send(buffer, to: source)] : [.refused]
  }
}

// MARK: Checks of ours

extension ICELiteAgent {
  /// Sends a check of an address, the one that is not answered again, as far as the address may be sent more.
  private mutating func check(_ index: Int, at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    let transactionID = self.paths[index].transactionID ?? STUNTransactionID(self.number, makeRandom())
    if self.paths[index].transactionID == nil { self.paths[index].sendCount = 0 }
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: transactionID,
      attributes: [
        .username("\(self.client.usernameFragment):\(self.credentials.usernameFragment)"),
        .iceControlled(UInt64(self.number)),
        .priority(Self.priority),
      ]
    ).serialize(into: &buffer, key: self.clientKey)
    guard self.mayBeSent(buffer.readableBytes, index) else {
      self.paths[index].nextCheck = nil
      return []
    }
    self.paths[index].transactionID = transactionID
    self.paths[index].checkTime = now
    self.paths[index].sendCount += 1
    let (count, isSelected) = (self.paths[index].sendCount, self.paths[index].address == self.selectedAddress)
    self.paths[index].nextCheck =
      switch (count < Self.maximumSendCount, isSelected) {
      case (true, true): now + Self.retransmissionTimeout
      case (true, false): now + Self.provingInterval * Int64(1 << (count - 1))
      case (false, true): now + Self.consentInterval
      case (false, false): nil
      }
    return [.send(buffer, to: self.paths[index].address)]
  }

  private mutating func handleSuccess(
    _ message: STUNMessage, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    guard
      let index = self.paths.firstIndex(where: { $0.transactionID == message.transactionID && $0.address == source }),
      message.isAuthentic(with: self.clientKey)
    else {
      self.refusedCheckCount += 1
      return [.refused]
    }
    self.paths[index].transactionID = nil
    return self.recordProof(index, at: now, makeRandom: makeRandom)
  }

  /// Records that the client receives at an address.
  private mutating func recordProof(_ index: Int, at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    let address = self.paths[index].address
    self.paths[index].proofTime = now
    self.paths[index].nextCheck = nil
    defer { self.updateNextCheck() }
    var outputs = [Output.valid(address)]
    if address == self.selectedAddress {
      self.renewConsent(index, at: now, makeRandom: makeRandom)
    } else if self.paths[index].isNominated {
      outputs += self.select(index, at: now, makeRandom: makeRandom)
    }
    return outputs
  }

  private mutating func select(_ index: Int, at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    let address = self.paths[index].address
    guard address != self.selectedAddress else { return [] }
    for other in self.paths.indices { self.paths[other].nextCheck = nil }
    self.selectedAddress = address
    self.renewConsent(index, at: self.paths[index].proofTime ?? now, makeRandom: makeRandom)
    self.updateNextCheck()
    return [.selected(address)]
  }

  private mutating func renewConsent(_ index: Int, at proof: MediaTime, makeRandom: () -> UInt64) {
    self.deadline = proof + Self.consentTimeout
    self.consentDeadline = self.deadline
    self.isProlonged = false
    let share = Int64(makeRandom() % 401) + 800
    self.paths[index].nextCheck = proof + Self.consentInterval * share / 1000
  }
}
