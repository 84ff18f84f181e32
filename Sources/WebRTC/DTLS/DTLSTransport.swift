package import Media
package import NIOCore

/// A DTLS association over datagrams that may be lost, with the keys that SRTP takes from it, RFC 6347 and RFC 5764.
///
/// The endpoint lives on after the handshake: a peer that lost the last flight sends its own again, and gets it again.
package struct DTLSTransport {
  private let endpoint: any DTLSEndpoint
  /// State of the association; changes with datagrams and timeouts.
  package private(set) var state = DTLSState.handshaking
  /// Time at which ``handleTimeout(at:)`` is due; nil while nothing is to be sent again.
  package private(set) var nextDeadline: MediaTime?

  /// Minimum time before a flight is sent again. RFC 6347 has a second; ICE has verified the path, and lost flights dominate
  /// the time to connect on bad links.
  package static let minimumTimeout = MediaDuration.milliseconds(100)
  /// Maximum time before a flight is sent again for the first time.
  package static let maximumTimeout = MediaDuration.seconds(1)

  /// Time before a flight is sent again for the first time: twice the round trip that STUN measured, within the bounds.
  package static func timeout(roundTrip: MediaDuration?) -> MediaDuration {
    max(Self.minimumTimeout, min((roundTrip ?? .zero) * 2, Self.maximumTimeout))
  }

  /// Creates a transport for an endpoint that has neither received nor sent anything.
  package init(endpoint: any DTLSEndpoint) {
    self.endpoint = endpoint
  }

  /// Starts a client.
  ///
  /// - Returns: The datagrams of the first flight.
  package mutating func start(at now: MediaTime) -> [[UInt8]] {
    self.receive(ByteBuffer(), at: now)
  }

  /// Processes a datagram.
  ///
  /// - Returns: Datagrams to send.
  package mutating func receive(_ datagram: ByteBuffer, at now: MediaTime) -> [[UInt8]] {
    guard self.state == .handshaking || self.state == .connected else { return [] }
    return self.apply(datagram.withUnsafeReadableBytes { self.endpoint.receive($0) }, at: now)
  }

  /// Sends the last flight again when that is due.
  ///
  /// - Returns: Datagrams to send.
  package mutating func handleTimeout(at now: MediaTime) -> [[UInt8]] {
    guard let deadline = self.nextDeadline, now >= deadline else { return [] }
    return self.apply(self.endpoint.handleTimeout(), at: now)
  }

  /// Ends the association.
  ///
  /// - Returns: Datagrams to send.
  package mutating func close() -> [[UInt8]] {
    guard self.state == .connected || self.state == .handshaking else { return [] }
    self.state = .closed
    self.nextDeadline = nil
    return self.endpoint.close()
  }

  /// Whether the handshake agreed on an SRTP profile.
  package var hasProfile: Bool { self.endpoint.profile != nil }

  /// The keys of SRTP, once connected, when the peer has one of the certificates that its session description names.
  ///
  /// - Returns: nil before the handshake's end, without an SRTP profile, and for another certificate: then there is no media.
  package func keys(
    peer fingerprints: [CertificateFingerprint]
  ) -> (profile: SRTPProfile, client: SRTPMasterKey, server: SRTPMasterKey)? {
    guard self.state == .connected, fingerprints.contains(where: { $0.matches(peerOf: self.endpoint) }),
      let profile = self.endpoint.profile, let bytes = self.endpoint.exportKeys(length: profile.exportedLength),
      let pair = SRTPMasterKey.pair(exported: bytes, profile: profile)
    else { return nil }
    return (profile, pair.client, pair.server)
  }

  private mutating func apply(_ result: (state: DTLSState, datagrams: [[UInt8]]), at now: MediaTime) -> [[UInt8]] {
    self.state = result.state
    self.nextDeadline = result.state == .handshaking ? self.endpoint.timeUntilTimeout.map { now + $0 } : nil
    return result.datagrams
  }
}
