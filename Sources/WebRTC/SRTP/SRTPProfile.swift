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
