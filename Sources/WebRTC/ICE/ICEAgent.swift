internal import Media
internal import NIOCore

/// ICE of a session: the lite agent of a server, or the controlling agent of a client that pushes.
///
/// Exactly one of the two exists. They are not the cases of an enumeration, since those cannot be mutated in place.
struct ICEAgent: Sendable {
  /// Step of the caller after a message or a timeout.
  typealias Output = ICELiteAgent.Output

  private var lite: ICELiteAgent?
  private var controlling: ICEControllingAgent?

  init(_ agent: ICELiteAgent) { self.lite = agent }

  init(_ agent: ICEControllingAgent) { self.controlling = agent }

  /// Destination of media; nil before the nomination, or the end of a server's handshake.
  var selectedAddress: TransportAddress? { self.lite?.selectedAddress ?? self.controlling?.selectedAddress }

  /// Number of the client's authentic checks; 0 of a client's own agent.
  var checkCount: Int { self.lite?.checkCount ?? 0 }

  /// Time at which ``handleTimeout(at:makeRandom:)`` is due; nil after the end.
  var nextDeadline: MediaTime? {
    if let lite { return lite.nextDeadline }
    return self.controlling?.nextDeadline
  }

  /// Whether the peer has proved that it receives at an address: DTLS is accepted from there, and answered to there.
  func isValid(_ address: TransportAddress, at now: MediaTime) -> Bool {
    self.lite?.isValid(address, at: now) ?? self.controlling?.isValid(address) ?? false
  }

  /// Whether a server's client has checked from an address, which may not be proven yet.
  func isKnown(_ address: TransportAddress) -> Bool { self.lite?.isKnown(address) ?? false }

  /// Restarts a server's agent with new credentials of both sides, RFC 8445 §9.
  mutating func restart(credentials: ICECredentials, client: ICECredentials, at now: MediaTime) {
    self.lite?.restart(credentials: credentials, client: client, at: now)
  }

  /// Processes a STUN message.
  ///
  /// - Parameters:
  ///   - length: Length of the datagram in bytes.
  ///   - makeRandom: Makes 64 random bits, for checks.
  mutating func handle(
    _ message: STUNMessage, length: Int, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    if let outputs = self.controlling?.handle(message, from: source, at: now) { return outputs.map(Output.init) }
    return self.lite?.handle(message, length: length, from: source, at: now, makeRandom: makeRandom) ?? []
  }

  /// Counts a datagram of another protocol from an address of a server's client that is not proven.
  mutating func handleUnproven(
    byteCount: Int, from source: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    self.lite?.handleUnproven(byteCount: byteCount, from: source, at: now, makeRandom: makeRandom) ?? []
  }

  /// Selects the address at which a server's client has ended its handshake of DTLS, where it has nominated none.
  mutating func handleHandshake(
    at address: TransportAddress, at now: MediaTime, makeRandom: () -> UInt64
  ) -> [Output] {
    self.lite?.handleHandshake(at: address, at: now, makeRandom: makeRandom) ?? []
  }

  /// Records authentic media of a server's publisher.
  @inline(__always)
  mutating func handleMedia(from source: TransportAddress, at now: MediaTime) {
    self.lite?.handleMedia(from: source, at: now)
  }

  /// Sends checks that are due, and notices a peer that does not respond.
  mutating func handleTimeout(at now: MediaTime, makeRandom: () -> UInt64) -> [Output] {
    if let outputs = self.controlling?.handleTimeout(at: now, makeRandom: makeRandom) {
      return outputs.map(Output.init)
    }
    return self.lite?.handleTimeout(at: now, makeRandom: makeRandom) ?? []
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
