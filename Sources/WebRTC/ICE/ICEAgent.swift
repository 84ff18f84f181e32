internal import Media
internal import NIOCore

/// ICE of a session: the lite agent of a server, or the controlling agent of a client that pushes.
///
/// Exactly one of the two exists. They are not the cases of an enumeration, since those cannot be mutated in place: each packet of
/// a publisher changes the lite agent's deadline.
struct ICEAgent: Sendable {
  /// Result of a STUN message or of a timeout.
  enum Output: Hashable {
    /// A datagram to send.
    case send(ByteBuffer, to: TransportAddress)
    /// An address became valid: datagrams from there belong to the session.
    case valid(TransportAddress)
    /// Media goes to another address from now on.
    case selected(TransportAddress)
    /// A message was refused or ignored.
    case refused
    /// The peer does not respond; nothing follows.
    case expired
  }

  private var lite: ICELiteAgent?
  private var controlling: ICEControllingAgent?

  init(_ agent: ICELiteAgent) { self.lite = agent }

  init(_ agent: ICEControllingAgent) { self.controlling = agent }

  /// Destination of media; nil before the nomination.
  var selectedAddress: TransportAddress? { self.lite?.selectedAddress ?? self.controlling?.selectedAddress }

  /// Number of the client's authentic checks; 0 of a client's own agent.
  var checkCount: Int { self.lite?.checkCount ?? 0 }

  /// Time at which ``handleTimeout(at:makeRandom:)`` is due; nil after the end.
  var nextDeadline: MediaTime? {
    if let lite { return lite.nextDeadline }
    return self.controlling?.nextDeadline
  }

  /// Whether the peer has proved that it receives at an address: DTLS is accepted from there, and answered to there.
  func isValid(_ address: TransportAddress) -> Bool {
    self.lite?.isValid(address) ?? self.controlling?.isValid(address) ?? false
  }

  /// Records an authentic packet of media or its control, which proves the consent of a server's client.
  mutating func handleAuthenticDatagram(from source: TransportAddress, at now: MediaTime) {
    self.lite?.handleAuthenticDatagram(from: source, at: now)
  }

  /// Adopts new credentials of a server, RFC 8445 §9.
  mutating func restart(credentials: ICECredentials, at now: MediaTime) {
    self.lite?.restart(credentials: credentials, at: now)
  }

  /// Processes a STUN message: a check, or the response to one.
  ///
  /// - Parameter length: Length of the datagram in bytes.
  mutating func handle(
    _ message: STUNMessage, length: Int, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    if let outputs = self.controlling?.handle(message, from: source, at: now) { return outputs.map(Output.init) }
    let wasValid = self.isValid(source)
    switch self.lite?.handle(message, length: length, from: source, at: now) {
    case .valid(let response, let didSelect):
      var outputs: [Output] = wasValid ? [] : [.valid(source)]
      outputs.append(.send(response, to: source))
      if didSelect { outputs.append(.selected(source)) }
      return outputs
    case .refused(let response): return [.refused, .send(response, to: source)]
    case .ignored, nil: return [.refused]
    }
  }

  /// Sends checks that are due, and notices a peer that does not respond.
  mutating func handleTimeout(at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    if let outputs = self.controlling?.handleTimeout(at: now, makeRandom: makeRandom) {
      return outputs.map(Output.init)
    }
    return self.lite?.isExpired(at: now) == true ? [.expired] : []
  }
}

extension ICEAgent.Output {
  fileprivate init(_ output: ICEControllingAgent.Output) {
    switch output {
    case .send(let datagram, let address): self = .send(datagram, to: address)
    case .selected(let address): self = .selected(address)
    case .failed: self = .expired
    }
  }
}
