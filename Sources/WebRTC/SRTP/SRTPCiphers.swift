/// Ciphers and salts of one direction of a session, for RTP and RTCP.
struct SRTPCiphers {
  let profile: SRTPProfile
  let rtp: any SRTPCipher
  let rtcp: any SRTPCipher
  private let nonce: SRTPNonce
  private let controlNonce: SRTPNonce

  /// Ciphers of the session keys; nil when a cipher cannot be made.
  init?(
    keys: SRTPSessionKeys, controlKeys: SRTPSessionKeys, profile: SRTPProfile, security: some DatagramSecurity,
    seals: Bool
  ) {
    guard let cipher = security.makeCipher(profile: profile, keys: keys, seals: seals),
      let controlCipher = security.makeCipher(profile: profile, keys: controlKeys, seals: seals)
    else { return nil }
    self.profile = profile
    self.rtp = cipher
    self.rtcp = controlCipher
    self.nonce = SRTPNonce(salt: keys.salt)
    self.controlNonce = SRTPNonce(salt: controlKeys.salt)
  }

  /// The nonce of an SRTP packet with a 48-bit index.
  func nonce(ssrc: UInt32, index: UInt64) -> SIMD16<UInt8> { self.nonce.value(ssrc: ssrc, index: index) }

  /// The nonce of an SRTCP packet with a 31-bit index.
  func controlNonce(ssrc: UInt32, index: UInt64) -> SIMD16<UInt8> { self.controlNonce.value(ssrc: ssrc, index: index) }

  /// Rollover counter that the tag of an SRTP packet covers behind the packet, RFC 3711 §4.2; nil with GCM, whose nonce
  /// contains it.
  func rolloverCounter(of index: UInt64) -> UInt32? {
    self.profile == .aeadAES128GCM ? nil : UInt32(truncatingIfNeeded: index >> 16)
  }

  /// Offsets of the tag, and of E and index, in an SRTCP packet whose ciphertext ends at `end`.
  func controlLayout(end: Int) -> (tag: Int, trailer: Int) {
    self.profile == .aeadAES128GCM
      ? (tag: end, trailer: end + self.profile.tagLength) : (tag: end + SRTCPTrailer.length, trailer: end)
  }
}
