/// An SRTP protection profile of DTLS, RFC 5764 §4.1.2 and RFC 7714 §14.2.
package enum SRTPProfile: UInt16, Hashable, Sendable, CaseIterable {
  /// `SRTP_AEAD_AES_128_GCM`: preferred, a third of the other's processing time.
  case aeadAES128GCM = 0x0007
  /// `SRTP_AES128_CM_HMAC_SHA1_80`, which every WebRTC endpoint has, RFC 8827 §6.5.
  case aes128CMSHA1 = 0x0001

  /// Length of the AES key in bytes.
  package static let keyLength = 16

  /// Length of the salt in bytes.
  package var saltLength: Int { self == .aeadAES128GCM ? 12 : 14 }

  /// Length of the key for HMAC-SHA1 in bytes; 0 when the cipher authenticates.
  package var authenticationKeyLength: Int { self == .aeadAES128GCM ? 0 : 20 }

  /// Length of the authentication tag of each packet in bytes.
  package var tagLength: Int { self == .aeadAES128GCM ? 16 : 10 }

  /// Number of bytes to export from DTLS: key and salt of both directions, RFC 5764 §4.2.
  package var exportedLength: Int { 2 * (Self.keyLength + self.saltLength) }
}

/// Master key and salt of one direction, RFC 3711 §3.2.1.
package struct SRTPMasterKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// 16 bytes.
  let key: [UInt8]
  /// 12 bytes with GCM, else 14.
  let salt: [UInt8]

  /// A key with its salt, of the lengths of their profile.
  package init(key: [UInt8], salt: [UInt8]) {
    self.key = key
    self.salt = salt
  }

  /// Splits what DTLS exports: client's key, server's key, client's salt, server's salt, RFC 5764 §4.2.
  ///
  /// - Returns: nil when the length is not that of the profile.
  package static func pair(
    exported bytes: [UInt8], profile: SRTPProfile
  ) -> (client: SRTPMasterKey, server: SRTPMasterKey)? {
    guard bytes.count == profile.exportedLength else { return nil }
    let salts = bytes[(2 * SRTPProfile.keyLength)...]
    return (
      SRTPMasterKey(key: Array(bytes[..<SRTPProfile.keyLength]), salt: Array(salts.prefix(profile.saltLength))),
      SRTPMasterKey(
        key: Array(bytes[SRTPProfile.keyLength..<2 * SRTPProfile.keyLength]),
        salt: Array(salts.suffix(profile.saltLength)))
    )
  }

  /// Only the type's name, so that no log has the key.
  package var description: String { "SRTPMasterKey" }

  /// A mirror without children, so that no dump has the key.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The nonce of a packet: session salt XOR SSRC and packet index.
///
/// ```
/// GCM, 12 bytes, RFC 7714 §8.1 and §9.1              0 0 | SSRC (4) | index (6)
/// counter mode, 16 bytes, RFC 3711 §4.1.1    0 0 0 0 | SSRC (4) | index (6) | 0 0
/// ```
///
/// The index is that of SRTP, 48 bits: rollover counter and sequence number; or that of SRTCP, 31 bits.
struct SRTPNonce {
  private let salt: SIMD16<UInt8>
  /// Position of the index, behind that of the SSRC.
  private let indexOffset: Int

  init(salt: [UInt8]) {
    var bytes = SIMD16<UInt8>()
    for (position, byte) in salt.enumerated() { bytes[position] = byte }
    self.salt = bytes
    self.indexOffset = salt.count - 6
  }

  func value(ssrc: UInt32, index: UInt64) -> SIMD16<UInt8> {
    var bytes = self.salt
    // SSRC and the first four bytes of the index, then its last two: each packet has a nonce, so not byte by byte.
    let (first, last) = (UInt64(ssrc) << 32 | index >> 16 & 0xFFFF_FFFF, UInt16(truncatingIfNeeded: index))
    withUnsafeMutableBytes(of: &bytes) { bytes in
      let (start, end) = (self.indexOffset - 4, self.indexOffset + 4)
      bytes.storeBytes(
        of: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self) ^ first.bigEndian, toByteOffset: start,
        as: UInt64.self)
      bytes.storeBytes(
        of: bytes.loadUnaligned(fromByteOffset: end, as: UInt16.self) ^ last.bigEndian, toByteOffset: end,
        as: UInt16.self)
    }
    return bytes
  }
}
