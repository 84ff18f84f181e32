package import Media
package import NIOCore

/// ICE of a server that its clients can reach: a lite agent, RFC 8445 §2.5, which only answers connectivity checks.
///
/// ```
///            authentic check                  check with USE-CANDIDATE
///   waiting ────────────────▶ DTLS may begin ─────────────────────────▶ media may flow
///      │ 30 s                        │ 20 s without an authentic datagram      │
///      └──────────────▶ expired ◀────┴─────────────────────────────────────────┘
/// ```
///
/// An address becomes valid by a check that has the session's password; nothing is sent to others, except responses that are
/// not longer than their request. A client may move to another address with a new nomination.
package struct ICELiteAgent: Sendable {
  /// Meaning of a received STUN message, with the response to send.
  package enum Outcome: Hashable, Sendable {
    /// An authentic check: the response to send, and whether the check changed the address that media goes to.
    case valid(response: ByteBuffer, didSelect: Bool)
    /// A check that is refused, with the response to send.
    case refused(response: ByteBuffer)
    /// A message without a response: no request, or one that is not worth it.
    case ignored
  }

  /// A check that was answered.
  private struct Check: Hashable {
    var transactionID: STUNTransactionID
    var source: TransportAddress
  }

  /// Time without any check after which a session ends.
  package static let checkTimeout = MediaDuration.seconds(30)
  /// Time without an authentic datagram of the client after which its consent ends. RFC 7675 §5.1 allows 30 s; clients check every
  /// 4 to 6 s.
  package static let consentTimeout = MediaDuration.seconds(20)
  /// Maximum number of valid addresses; the one with the oldest check is dropped.
  package static let maximumValidAddressCount = 8
  /// Number of transactions whose repetition from another address is detected.
  private static let checkHistoryLength = 64

  /// The credentials that checks must have.
  package private(set) var credentials: ICECredentials
  private var key: STUNKey
  /// Addresses that sent an authentic check, the last one at the end.
  private var validAddresses: [TransportAddress] = []
  /// The address that the client nominated; nil before. Media goes there.
  package private(set) var selectedAddress: TransportAddress?
  /// Time at which ``isExpired(at:)`` becomes true, unless the client sends something authentic.
  package private(set) var nextDeadline: MediaTime
  /// Number of connectivity checks whose integrity was verified.
  package private(set) var checkCount = 0
  /// Number of requests that were refused or ignored.
  package private(set) var refusedCheckCount = 0
  private var recentChecks: [Check] = []

  /// An agent that waits for checks.
  package init(credentials: ICECredentials, at now: MediaTime) {
    self.credentials = credentials
    self.key = STUNKey(password: credentials.password)
    self.nextDeadline = now + Self.checkTimeout
  }

  /// Whether the client sent an authentic check from an address: DTLS is accepted from there, and answered to there.
  package func isValid(_ address: TransportAddress) -> Bool {
    self.validAddresses.contains(address)
  }

  /// Whether the client's consent, or its time for a first check, has ended.
  package func isExpired(at now: MediaTime) -> Bool {
    now >= self.nextDeadline
  }

  /// Extends the consent by an authentic SRTP or SRTCP packet from a valid address, which proves it as a check does,
  /// RFC 7675 §5.1.
  package mutating func handleAuthenticDatagram(from source: TransportAddress, at now: MediaTime) {
    guard self.isValid(source) else { return }
    self.nextDeadline = max(self.nextDeadline, now + Self.consentTimeout)
  }

  /// Adopts new credentials, RFC 8445 §9. Media continues on the selected address until the client nominates another.
  package mutating func restart(credentials: ICECredentials, at now: MediaTime) {
    self.credentials = credentials
    self.key = STUNKey(password: credentials.password)
    self.recentChecks = []
    self.nextDeadline = max(self.nextDeadline, now + Self.checkTimeout)
  }

  /// Processes a STUN message that was sent to this session's username fragment.
  ///
  /// - Parameters:
  ///   - message: The parsed datagram.
  ///   - length: Length of the datagram in bytes, which an unauthenticated response does not exceed.
  ///   - source: Where it came from, and the response goes.
  package mutating func handle(
    _ message: STUNMessage, length: Int, from source: TransportAddress, at now: MediaTime
  ) -> Outcome {
    guard message.messageClass == .request, message.method == STUNMessage.binding else { return .ignored }
    guard let username = message.username, message.hasIntegrity else {
      return self.refuse(message, 400, "Bad Request", length: length)
    }
    guard
      username.utf8.prefix(while: { $0 != UInt8(ascii: ":") }).elementsEqual(self.credentials.usernameFragment.utf8),
      message.isAuthentic(with: self.key)
    else { return self.refuse(message, 401, "Unauthorized", length: length) }
    // An attacker on the path may send a check again from elsewhere, to have media sent there.
    let check = Check(transactionID: message.transactionID, source: source)
    if self.recentChecks.contains(where: { $0.transactionID == check.transactionID && $0.source != source }) {
      self.refusedCheckCount += 1
      return .ignored
    }
    let unknown = message.unknownRequiredAttributes
    if !unknown.isEmpty {
      self.refusedCheckCount += 1
      return .refused(
        response: self.response(
          to: message, .error, [.errorCode(420, reason: "Unknown Attribute"), .unknownAttributes(unknown)]))
    }
    // A lite agent is always controlled, RFC 8445 §6.1.1; the client must change its role.
    if message.attributes.contains(where: { if case .iceControlled = $0 { true } else { false } }) {
      self.refusedCheckCount += 1
      return .refused(response: self.response(to: message, .error, [.errorCode(487, reason: "Role Conflict")]))
    }
    self.note(check)
    self.nextDeadline = max(self.nextDeadline, now + Self.consentTimeout)
    if self.checkCount == 0 { self.nextDeadline = now + Self.consentTimeout }
    self.checkCount += 1
    let didSelect = message.nominates && self.selectedAddress != source
    if didSelect { self.selectedAddress = source }
    return .valid(response: self.response(to: message, .success, [.xorMappedAddress(source)]), didSelect: didSelect)
  }

  private mutating func note(_ check: Check) {
    if self.recentChecks.count == Self.checkHistoryLength { self.recentChecks.removeFirst() }
    self.recentChecks.append(check)
    self.validAddresses.removeAll { $0 == check.source }
    if self.validAddresses.count == Self.maximumValidAddressCount {
      // The selected address stays, however long ago it was checked.
      let oldest = self.validAddresses.firstIndex { $0 != self.selectedAddress } ?? 0
      self.validAddresses.remove(at: oldest)
    }
    self.validAddresses.append(check.source)
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
  private mutating func refuse(_ request: STUNMessage, _ code: UInt16, _ reason: String, length: Int) -> Outcome {
    self.refusedCheckCount += 1
    var buffer = ByteBuffer()
    STUNMessage(.error, transactionID: request.transactionID, attributes: [.errorCode(code, reason: reason)])
      .serialize(into: &buffer)
    return buffer.readableBytes <= length ? .refused(response: buffer) : .ignored
  }
}
