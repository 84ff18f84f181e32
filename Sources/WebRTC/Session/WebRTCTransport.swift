package import Media
package import NIOCore
package import RTP

/// The transport of one session: ICE, DTLS and SRTP on a path to one peer. Pure: time is an argument, and datagrams are values.
///
/// A server's side waits for its client:
///
/// ```
///   our check of an      ClientHello                handshake done,
///   address is answered  from there                 fingerprint right
/// ─────────────────▶ proven ────────▶ handshaking ─────────────────▶ connected: media flows there, or where the client nominates
///             any of them: 30 s since the offer, silence, close_notify, wrong fingerprint ──▶ closed
/// ```
///
/// A client's side, of a push, begins by itself: it checks the server's candidates, nominates one, starts DTLS there or waits for the
/// server's, and media flows when the handshake is done.
///
/// The caller passes each datagram of the session to ``handle(_:from:at:)`` and calls ``handleTimeout(at:)`` at
/// ``nextDeadline``; both return what to do, in order. DTLS has no state, and sends nothing, before an address of the client has
/// answered a check.
package struct WebRTCTransport {
  /// Step of the caller after a datagram or a timeout.
  package enum Output: Hashable, Sendable {
    /// A datagram to send.
    case send(ByteBuffer, to: TransportAddress)
    /// Media may be sealed from now on; it is sent to ``WebRTCTransport/selectedAddress``.
    case connected(SRTPProfile)
    /// Media goes to another address from now on.
    case selected(TransportAddress)
    /// A client has checked from an address that is not proven yet: datagrams from there are of the session, unless another one has
    /// proved it.
    case checked(TransportAddress)
    /// The peer has proved that it receives at an address: datagrams from there belong to the session. Repeated with each proof.
    case valid(TransportAddress)
    /// Datagrams of an address do not belong to the session any more.
    case invalid(TransportAddress)
    /// RTCP of the client, authentic.
    case received(RTCPCompoundPacket)
    /// The session has ended; nothing follows.
    case closed(CloseReason)
  }

  /// Reasons for the end of a session.
  package enum CloseReason: String, Hashable, Sendable, CaseIterable {
    /// No check arrived: the client cannot reach the candidates that it was given. Of a client's side, no check was answered.
    case neverChecked
    /// The peer has not answered a check of its selected address for a while, RFC 7675.
    case consentExpired
    /// Checks arrived, but the connection was not made in time: a check of ours or DTLS was not answered, or nothing was nominated.
    case setupTimedOut
    /// The peer sent close_notify: a client, or the server of a push.
    case closedByClient
    /// ``WebRTCTransport/close(at:)`` was called.
    case closedByServer
    /// The certificate of the DTLS peer is not one that the session description names.
    case wrongFingerprint
    /// DTLS failed, or agreed on no SRTP profile.
    case dtlsFailed
  }

  /// Datagrams that were dropped, by cause.
  package struct DropCounts: Hashable, Sendable {
    /// Connectivity checks that were malformed, refused or ignored, and answers to ours that came twice.
    package var checks = 0
    /// Datagrams of an address that is not proven.
    package var invalidAddress = 0
    /// SRTCP that is not authentic, replayed or malformed.
    package var control = 0
    /// Authentic SRTCP beyond what a client may send in a second.
    package var excess = 0
    /// Everything else: other protocols, media that is not authentic, replayed or not agreed on.
    package var other = 0

    /// All but ``excess``: datagrams that are no part of the session.
    package var rejected: Int { self.checks + self.invalidAddress + self.control + self.other }
  }

  /// Time from an offer until media can flow, after which its session ends.
  package static let setupTimeout = MediaDuration.seconds(30)
  /// Maximum length of a datagram of DTLS that waits for the proof of its address.
  private static let maximumWaitingLength = 1500
  /// Maximum number of such datagrams: a ClientHello with post-quantum groups has two.
  private static let maximumWaitingCount = 4

  private let security: any DatagramSecurity
  private let fingerprints: [CertificateFingerprint]
  /// Our role in DTLS.
  private let role: DTLSRole
  /// Makes 64 random bits, for checks.
  private let makeRandom: @Sendable () -> UInt64
  private var agent: ICEAgent
  private var dtls: DTLSTransport?
  /// Destination of DTLS: the proven address that the peer last sent DTLS from, and after the handshake that of media.
  private var dtlsAddress: TransportAddress?
  /// Datagrams of DTLS of an address that is not proven yet: a ClientHello overtakes the response to our check.
  private var waiting: (datagrams: [ByteBuffer], source: TransportAddress)?
  /// Time at which a server's session ends that was not ready before; nil of a client's side.
  private var setupDeadline: MediaTime?
  private var sealer: SRTPSealer?
  private var opener: SRTPOpener?
  private var isClosed = false
  /// Time of the first response to a check: clients begin DTLS when they have it. Of a client's side, the time of its first check.
  private var firstResponse: MediaTime?
  /// Datagrams of SRTCP that are read; browsers send some twenty in a second, and fifty where packets are lost.
  private var controlBudget = TokenBucket(rate: 200)
  /// Number of datagrams dropped since the start of the session, by cause.
  package private(set) var dropCounts = DropCounts()

  /// Creates the transport of an answered offer.
  ///
  /// - Parameters:
  ///   - credentials: The server's ICE credentials, as answered.
  ///   - client: The client's ICE credentials, as offered.
  ///   - number: Number of the session among those that share a port, with which responses to its checks begin.
  ///   - fingerprints: The client's certificates, as offered.
  ///   - role: Our role in DTLS, as answered; a client begins when the peer has nominated an address that it has proved.
  ///   - makeRandom: Makes 64 random bits, for checks.
  package init(
    credentials: ICECredentials, client: ICECredentials, number: UInt32, fingerprints: [CertificateFingerprint],
    role: DTLSRole, security: any DatagramSecurity, makeRandom: @escaping @Sendable () -> UInt64, at now: MediaTime
  ) {
    self.agent = ICEAgent(ICELiteAgent(credentials: credentials, client: client, number: number, at: now))
    self.fingerprints = fingerprints
    self.security = security
    self.role = role
    self.makeRandom = makeRandom
    self.setupDeadline = now + Self.setupTimeout
  }

  /// Creates the transport of a client whose offer was answered; it begins at once, with ``handleTimeout(at:)``.
  ///
  /// - Parameters:
  ///   - credentials: The client's ICE credentials, as offered.
  ///   - makeRandom: Makes 64 random bits.
  package init(
    _ answer: WebRTCPushAnswer, credentials: ICECredentials, security: any DatagramSecurity,
    makeRandom: @escaping @Sendable () -> UInt64, at now: MediaTime
  ) {
    self.agent = ICEAgent(
      ICEControllingAgent(
        local: credentials, remote: answer.credentials, candidates: answer.candidates,
        tieBreaker: makeRandom(), at: now))
    self.fingerprints = answer.fingerprints
    self.security = security
    self.role = answer.role
    self.makeRandom = makeRandom
    self.firstResponse = now
  }

  // The hot members are inlined: they read a field or two for each packet or timer, and calls would copy the whole
  // value.

  /// Destination of media; nil before the client's nomination, or its handshake.
  @inline(__always)
  package var selectedAddress: TransportAddress? { self.agent.selectedAddress }

  /// Whether media can be sealed and has a destination.
  @inline(__always)
  package var isReady: Bool { self.sealer != nil && self.agent.selectedAddress != nil && !self.isClosed }

  /// Number of the client's authentic checks.
  package var checkCount: Int { self.agent.checkCount }

  /// Time at which ``handleTimeout(at:)`` is due; nil after the end.
  @inline(__always)
  package var nextDeadline: MediaTime? {
    guard !self.isClosed else { return nil }
    var deadline = self.agent.nextDeadline
    if let flight = self.dtls?.nextDeadline { deadline = deadline.map { min(flight, $0) } ?? flight }
    if let setupDeadline { deadline = deadline.map { min(setupDeadline, $0) } ?? setupDeadline }
    return deadline
  }

  /// Restarts ICE with new credentials of both sides, RFC 8445 §9; keys and media stay.
  package mutating func restart(credentials: ICECredentials, client: ICECredentials, at now: MediaTime) {
    self.agent.restart(credentials: credentials, client: client, at: now)
  }

  /// Processes a datagram of the session, whatever its protocol.
  ///
  /// - Returns: Steps of the caller, in their order; none after the end.
  package mutating func handle(_ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime) -> [Output] {
    guard !self.isClosed else { return [] }
    switch DatagramKind(datagram) {
    case .stun: return self.handleCheck(datagram, from: source, at: now)
    case .dtls: return self.handleDTLS(datagram, from: source, at: now)
    case .rtcp: return self.handleControl(datagram, from: source, at: now)
    case .rtp, nil:
      self.dropCounts.other += 1
      return []
    }
  }

  /// Opens an RTP packet of a client that publishes; nil when it is not authentic, replayed or malformed, or before the keys are known.
  package mutating func open(
    media datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> RTPPacket? {
    guard !self.isClosed, self.agent.isValid(source, at: now) else {
      self.dropCounts.invalidAddress += 1
      return nil
    }
    guard let plain = try? self.opener?.open(rtp: datagram) else {
      self.dropCounts.other += 1
      return nil
    }
    // As consent: only reports go back, and publishers exist that answer no check any more once they send media.
    self.agent.handleMedia(from: source, at: now)
    guard let packet = try? RTPPacket(parsing: plain) else {
      self.dropCounts.other += 1
      return nil
    }
    return packet
  }

  /// Sends checks and DTLS flights again, and ends a session whose peer is silent.
  package mutating func handleTimeout(at now: MediaTime) -> [Output] {
    guard !self.isClosed else { return [] }
    if let setupDeadline, now >= setupDeadline {
      return self.end(self.agent.checkCount == 0 ? .neverChecked : .setupTimedOut)
    }
    let outputs = self.perform(self.agent.handleTimeout(at: now, makeRandom: self.makeRandom), at: now)
    guard !self.isClosed, let datagrams = self.dtls?.handleTimeout(at: now) else { return outputs }
    return outputs + self.outputs(datagrams) + self.stateOutputs(at: now)
  }

  /// Ends the session, and notifies the client by close_notify.
  package mutating func close() -> [Output] {
    guard !self.isClosed else { return [] }
    return self.end(.closedByServer)
  }

  /// Seals an RTP packet from its header and its payload into memory of the caller, which sends it to ``selectedAddress``.
  ///
  /// - Parameter output: `header.count + payload.count + overhead` bytes.
  package mutating func seal(
    header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) {
    // The state is read field by field: as an argument of a computed property, all of it would be copied for each packet.
    guard !self.isClosed, self.agent.selectedAddress != nil,
      try self.sealer?.seal(header: header, payload: payload, into: output) != nil
    else { throw .notConnected }
  }

  /// Length that sealing adds to an RTP packet, in bytes; nil before the keys are known.
  @inline(__always)
  package var overhead: Int? { self.sealer?.overhead }

  /// Seals RTCP.
  ///
  /// - Returns: The datagram for ``selectedAddress``.
  package mutating func seal(_ packet: RTCPCompoundPacket) throws(SRTPError) -> ByteBuffer {
    guard self.isReady, self.sealer != nil else { throw .notConnected }
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    guard let datagram = try self.sealer?.seal(rtcp: buffer) else { throw .notConnected }
    return datagram
  }
}

// MARK: Protocols

extension WebRTCTransport {
  private mutating func handleCheck(
    _ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard let message = try? STUNMessage(parsing: datagram) else {
      self.dropCounts.checks += 1
      return []
    }
    return self.perform(
      self.agent.handle(
        message, length: datagram.readableBytes, from: source, at: now, makeRandom: self.makeRandom), at: now)
  }

  private mutating func perform(_ results: [ICEAgent.Output], at now: MediaTime) -> [Output] {
    var outputs: [Output] = []
    for result in results {
      switch result {
      case .send(let datagram, let address):
        outputs.append(.send(datagram, to: address))
        if self.firstResponse == nil, self.agent.checkCount > 0 { self.firstResponse = now }
      case .checked(let address): outputs.append(.checked(address))
      case .valid(let address):
        outputs.append(.valid(address))
        if let waiting, waiting.source == address {
          self.waiting = nil
          for datagram in waiting.datagrams where !self.isClosed {
            outputs += self.handleDTLS(datagram, from: address, at: now)
          }
        }
      case .invalid(let address): outputs.append(.invalid(address))
      case .selected(let address):
        outputs.append(.selected(address))
        // The notice of the end goes where the client is, and the flights of our own handshake.
        if self.sealer != nil || self.role == .client { self.dtlsAddress = address }
        if self.isReady { self.setupDeadline = nil }
        outputs += self.startDTLS(with: address, at: now)
      case .refused: self.dropCounts.checks += 1
      case .expired:
        let wasReached = self.agent.checkCount > 0 || self.agent.selectedAddress != nil
        return outputs + self.end(wasReached ? .consentExpired : .neverChecked)
      }
    }
    return outputs
  }

  /// Sends the first flight of a client.
  private mutating func startDTLS(with address: TransportAddress, at now: MediaTime) -> [Output] {
    guard self.role == .client, self.dtls == nil else { return [] }
    // A check and the nomination, each with its response, have passed: two round trips, or somewhat more.
    let timeout = DTLSTransport.timeout(roundTrip: self.firstResponse.map { (now - $0) / 2 })
    guard let endpoint = self.security.makeEndpoint(role: .client, timeout: timeout) else {
      return self.end(.dtlsFailed)
    }
    self.dtlsAddress = address
    var dtls = DTLSTransport(endpoint: endpoint)
    let datagrams = dtls.start(at: now)
    self.dtls = dtls
    return self.outputs(datagrams) + self.stateOutputs(at: now)
  }

  private mutating func handleDTLS(
    _ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard self.agent.isValid(source, at: now) else {
      guard self.agent.isKnown(source), datagram.readableBytes <= Self.maximumWaitingLength else {
        self.dropCounts.invalidAddress += 1
        return []
      }
      var datagrams = self.waiting?.source == source ? self.waiting?.datagrams ?? [] : []
      if datagrams.count == Self.maximumWaitingCount { datagrams.removeFirst() }
      self.waiting = (datagrams + [datagram], source)
      return self.perform(
        self.agent.handleUnproven(
          byteCount: datagram.readableBytes, from: source, at: now, makeRandom: self.makeRandom), at: now)
    }
    if self.dtls == nil {
      // A client's side begins itself.
      guard self.role == .server else { return [] }
      // The ClientHello follows the response to a check: a round trip, or somewhat more.
      let timeout = DTLSTransport.timeout(roundTrip: self.firstResponse.map { now - $0 })
      guard let endpoint = self.security.makeEndpoint(role: .server, timeout: timeout) else {
        return self.end(.dtlsFailed)
      }
      self.dtls = DTLSTransport(endpoint: endpoint)
    }
    self.dtlsAddress = self.sealer == nil ? source : self.agent.selectedAddress ?? source
    let datagrams = self.dtls?.receive(datagram, at: now) ?? []
    return self.outputs(datagrams) + self.stateOutputs(at: now)
  }

  private mutating func handleControl(
    _ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard self.agent.isValid(source, at: now) else {
      self.dropCounts.invalidAddress += 1
      return []
    }
    guard let plain = try? self.opener?.open(rtcp: datagram) else {
      self.dropCounts.control += 1
      return []
    }
    // Only what is authentic counts: strangers cannot use it up.
    guard self.controlBudget.take(at: now) else {
      self.dropCounts.excess += 1
      return []
    }
    guard let packet = try? RTCPCompoundPacket(parsing: plain, allowsReducedSize: true) else {
      self.dropCounts.control += 1
      return []
    }
    return [.received(packet)]
  }

  /// Outputs that follow from a changed state of DTLS.
  private mutating func stateOutputs(at now: MediaTime) -> [Output] {
    switch self.dtls?.state {
    case .connected where self.sealer == nil:
      guard let keys = self.dtls?.keys(peer: self.fingerprints) else {
        return self.end(self.dtls?.hasProfile == true ? .wrongFingerprint : .dtlsFailed)
      }
      // Each side seals with its own half, and opens with the other's.
      let (own, other) = self.role == .server ? (keys.server, keys.client) : (keys.client, keys.server)
      self.sealer = SRTPSealer(master: own, profile: keys.profile, security: self.security)
      self.opener = SRTPOpener(master: other, profile: keys.profile, security: self.security)
      guard self.sealer != nil, self.opener != nil else { return self.end(.dtlsFailed) }
      if self.isReady { self.setupDeadline = nil }
      guard let dtlsAddress else { return [.connected(keys.profile)] }
      let selection = self.agent.handleHandshake(at: dtlsAddress, at: now, makeRandom: self.makeRandom)
      return [.connected(keys.profile)] + self.perform(selection, at: now)
    case .closed: return self.end(.closedByClient)
    case .failed: return self.end(.dtlsFailed)
    case .handshaking, .connected, nil: return []
    }
  }

  private func outputs(_ datagrams: [[UInt8]]) -> [Output] {
    guard let address = self.dtlsAddress else { return [] }
    return datagrams.map { .send(ByteBuffer(bytes: $0), to: address) }
  }

  private mutating func end(_ reason: CloseReason) -> [Output] {
    let notice = self.outputs(self.dtls?.close() ?? [])
    // Without consent nothing is sent, RFC 7675 §5.1.
    let farewell = reason == .consentExpired ? [] : notice
    self.isClosed = true
    self.sealer = nil
    self.opener = nil
    self.dtls = nil
    return farewell + [.closed(reason)]
  }
}
