package import Media
package import NIOCore
package import RTP

/// The transport of one session: ICE, DTLS and SRTP on a path to one client. Pure: time is an argument, and datagrams are values.
///
/// ```
///   first check          ClientHello from           handshake done,            nomination
///   of the client        a valid address            fingerprint right
/// ───────────────▶ checked ────────▶ handshaking ─────────────────▶ connected ────────────▶ media flows
///                       any of them: timeout, close_notify, wrong fingerprint ──▶ closed
/// ```
///
/// The caller passes each datagram of the session to ``handle(_:from:at:)`` and calls ``handleTimeout(at:)`` at
/// ``nextDeadline``; both return what to do, in order. DTLS has no state before a check proved the client's address.
package struct WebRTCTransport {
  /// Something to do.
  package enum Output: Hashable, Sendable {
    /// A datagram to send.
    case send(ByteBuffer, to: TransportAddress)
    /// Media may be sealed from now on; it is sent to ``WebRTCTransport/selectedAddress``.
    case connected(SRTPProfile)
    /// Media goes to another address from now on.
    case selected(TransportAddress)
    /// An address became valid: datagrams from there belong to the session.
    case valid(TransportAddress)
    /// RTCP of the client, authentic.
    case received(RTCPCompoundPacket)
    /// The session has ended; nothing follows.
    case closed(CloseReason)
  }

  /// Why a session ended.
  package enum CloseReason: String, Hashable, Sendable, CaseIterable {
    /// No check arrived: the client cannot reach the candidates that it was given.
    case neverChecked
    /// The client has not sent anything for a while, RFC 7675.
    case consentExpired
    /// The client sent close_notify.
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
    /// Checks that were refused.
    package var checks = 0
    /// Datagrams of an address that no check made valid.
    package var invalidAddress = 0
    /// SRTCP that is not authentic, replayed or malformed.
    package var control = 0
    /// Everything else: other protocols, media that the client was not asked for.
    package var other = 0
  }

  private let security: any DatagramSecurity
  private let fingerprints: [CertificateFingerprint]
  private var agent: ICELiteAgent
  private var dtls: DTLSTransport?
  /// Destination of DTLS: the valid address that the client last sent DTLS from.
  private var dtlsAddress: TransportAddress?
  private var sealer: SRTPSealer?
  private var opener: SRTPOpener?
  private var isClosed = false
  /// Datagrams that were dropped.
  package private(set) var dropCounts = DropCounts()

  /// Creates the transport of an answered offer.
  ///
  /// - Parameters:
  ///   - credentials: The server's ICE credentials, as answered.
  ///   - fingerprints: The client's certificates, as offered.
  package init(
    credentials: ICECredentials, fingerprints: [CertificateFingerprint], security: any DatagramSecurity,
    at now: MediaTime
  ) {
    self.agent = ICELiteAgent(credentials: credentials, at: now)
    self.fingerprints = fingerprints
    self.security = security
  }

  /// Destination of media; nil before the client's nomination.
  package var selectedAddress: TransportAddress? { self.agent.selectedAddress }

  /// Whether media can be sealed and has somewhere to go.
  package var isReady: Bool { self.sealer != nil && self.agent.selectedAddress != nil && !self.isClosed }

  /// Number of the client's authentic checks.
  package var checkCount: Int { self.agent.checkCount }

  /// When ``handleTimeout(at:)`` is due; nil after the end.
  package var nextDeadline: MediaTime? {
    guard !self.isClosed else { return nil }
    return [self.agent.nextDeadline, self.dtls?.nextDeadline].compactMap(\.self).min()
  }

  /// Takes new ICE credentials, RFC 8445 §9; keys and media stay.
  package mutating func restart(credentials: ICECredentials, at now: MediaTime) {
    self.agent.restart(credentials: credentials, at: now)
  }

  /// Processes a datagram.
  package mutating func handle(_ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime) -> [Output] {
    guard !self.isClosed else { return [] }
    switch DatagramKind(datagram.readableBytesView) {
    case .stun: return self.handleCheck(datagram, from: source, at: now)
    case .dtls: return self.handleDTLS(datagram, from: source, at: now)
    case .rtcp: return self.handleControl(datagram, from: source, at: now)
    case .rtp, nil:
      self.dropCounts.other += 1
      return []
    }
  }

  /// Sends DTLS flights again, and ends a session whose client is silent.
  package mutating func handleTimeout(at now: MediaTime) -> [Output] {
    guard !self.isClosed else { return [] }
    if self.agent.isExpired(at: now) {
      return self.end(self.agent.checkCount == 0 ? .neverChecked : .consentExpired)
    }
    guard let datagrams = self.dtls?.handleTimeout(at: now) else { return [] }
    return self.outputs(datagrams) + self.stateOutputs()
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
    guard self.isReady else { throw .notConnected }
    try self.sealer?.seal(header: header, payload: payload, into: output)
  }

  /// Length that sealing adds to an RTP packet, in bytes; nil before the keys are known.
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
    let wasValid = self.agent.isValid(source)
    switch self.agent.handle(message, length: datagram.readableBytes, from: source, at: now) {
    case .valid(let response, let didSelect):
      var outputs: [Output] = wasValid ? [] : [.valid(source)]
      outputs.append(.send(response, to: source))
      if didSelect { outputs.append(.selected(source)) }
      return outputs
    case .refused(let response):
      self.dropCounts.checks += 1
      return [.send(response, to: source)]
    case .ignored:
      self.dropCounts.checks += 1
      return []
    }
  }

  private mutating func handleDTLS(
    _ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard self.agent.isValid(source) else {
      self.dropCounts.invalidAddress += 1
      return []
    }
    if self.dtls == nil {
      // The client's checks measure no round trip here; the minimum is right for most.
      guard let endpoint = self.security.makeEndpoint(role: .server, timeout: DTLSTransport.timeout(roundTrip: nil))
      else { return self.end(.dtlsFailed) }
      self.dtls = DTLSTransport(endpoint: endpoint)
    }
    self.dtlsAddress = source
    let datagrams = self.dtls?.receive(datagram, at: now) ?? []
    return self.outputs(datagrams) + self.stateOutputs()
  }

  private mutating func handleControl(
    _ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime
  ) -> [Output] {
    guard self.agent.isValid(source) else {
      self.dropCounts.invalidAddress += 1
      return []
    }
    guard let plain = try? self.opener?.open(rtcp: datagram) else {
      self.dropCounts.control += 1
      return []
    }
    self.agent.handleAuthenticDatagram(from: source, at: now)
    guard let packet = try? RTCPCompoundPacket(parsing: plain, allowsReducedSize: true) else {
      self.dropCounts.control += 1
      return []
    }
    return [.received(packet)]
  }

  /// Outputs that follow from a changed state of DTLS.
  private mutating func stateOutputs() -> [Output] {
    switch self.dtls?.state {
    case .connected where self.sealer == nil:
      guard let keys = self.dtls?.keys(peer: self.fingerprints) else {
        return self.end(self.dtls?.hasProfile == true ? .wrongFingerprint : .dtlsFailed)
      }
      // The server seals with its own half, and opens what the client sealed.
      self.sealer = SRTPSealer(master: keys.server, profile: keys.profile, security: self.security)
      self.opener = SRTPOpener(master: keys.client, profile: keys.profile, security: self.security)
      guard self.sealer != nil, self.opener != nil else { return self.end(.dtlsFailed) }
      return [.connected(keys.profile)]
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
    let farewell = self.outputs(self.dtls?.close() ?? [])
    self.isClosed = true
    self.sealer = nil
    self.opener = nil
    self.dtls = nil
    return farewell + [.closed(reason)]
  }
}
