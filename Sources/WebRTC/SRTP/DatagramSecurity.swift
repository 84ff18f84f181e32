package import Media

/// The cryptography below WebRTC, which a library has: DTLS, and the ciphers of SRTP.
package protocol DatagramSecurity: Sendable {
  /// SHA-256 of the certificate that all endpoints present, 32 bytes, for `a=fingerprint`.
  var fingerprint: [UInt8] { get }

  /// Makes one side of a DTLS association; nil when memory is lacking.
  ///
  /// - Parameter timeout: Time before a flight is sent again for the first time.
  func makeEndpoint(role: DTLSRole, timeout: MediaDuration) -> (any DTLSEndpoint)?

  /// Makes the cipher of one use and direction; nil when memory is lacking.
  ///
  /// - Parameter seals: Whether it seals, or opens.
  func makeCipher(profile: SRTPProfile, keys: SRTPSessionKeys, seals: Bool) -> (any SRTPCipher)?
}

/// A cipher of SRTP with one key.
///
/// Authenticates the header, the ciphertext, and the trailer where there is one. The trailer is the rollover counter of
/// SRTP with HMAC (RFC 3711 §4.2), or E and the index of SRTCP.
package protocol SRTPCipher: AnyObject {
  /// Encrypts `plaintext` into as many bytes of `ciphertext`, and fills `tag`. The two buffers may be the same.
  ///
  /// - Parameter nonce: 12 bytes with GCM, else 16.
  /// - Returns: Whether it succeeded; a failure is that of the library.
  func seal(
    _ plaintext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
  ) -> Bool

  /// Checks the tag and decrypts.
  ///
  /// - Returns: Whether the packet is authentic; otherwise `plaintext` is undefined.
  func open(
    _ ciphertext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into plaintext: UnsafeMutableRawBufferPointer, tag: UnsafeRawBufferPointer
  ) -> Bool
}

/// Role of an endpoint in the DTLS handshake, as the value of its `a=setup`, RFC 8842 §5.1.
package enum DTLSRole: String, Hashable, Sendable {
  /// Sends the ClientHello.
  case client = "active"
  /// Waits for it.
  case server = "passive"
}

/// State of a DTLS association.
package enum DTLSState: Hashable, Sendable {
  case handshaking
  case connected
  /// The peer sent close_notify.
  case closed
  case failed
}

/// One side of a DTLS association. Its timer for lost flights is the library's; ``DTLSTransport`` waits for it.
package protocol DTLSEndpoint: AnyObject {
  /// Processes a datagram, or starts a client with an empty one.
  ///
  /// - Returns: The state afterwards, and datagrams to send.
  func receive(_ datagram: UnsafeRawBufferPointer) -> (state: DTLSState, datagrams: [[UInt8]])

  /// Time until ``handleTimeout()`` is due; nil while nothing is to be sent again.
  var timeUntilTimeout: MediaDuration? { get }

  /// Sends the last flight again when that is due.
  func handleTimeout() -> (state: DTLSState, datagrams: [[UInt8]])

  /// Ends the association.
  ///
  /// - Returns: The datagram with close_notify; empty when there is no association.
  func close() -> [[UInt8]]

  /// The agreed SRTP profile; nil before the handshake's end, or without one.
  var profile: SRTPProfile? { get }

  /// Exports the keying material of RFC 5764 §4.2; nil before the handshake's end.
  func exportKeys(length: Int) -> [UInt8]?

  /// Digest of the peer's certificate; nil without one.
  func peerFingerprint(_ algorithm: FingerprintAlgorithm) -> [UInt8]?
}
