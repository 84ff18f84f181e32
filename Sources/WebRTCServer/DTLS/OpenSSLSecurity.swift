internal import CDTLS
package import Media
package import WebRTC

/// DTLS 1.2 and the ciphers of SRTP by OpenSSL, with one self-signed certificate for all endpoints.
package final class OpenSSLSecurity: DatagramSecurity {
  // Safe because OpenSSL's context may be used by several threads, and is not changed after it was made.
  nonisolated(unsafe) private let context: OpaquePointer

  /// SHA-256 of the certificate in DER, 32 bytes.
  package let fingerprint: [UInt8]

  /// Makes a new key and certificate; nil when memory or random numbers are lacking.
  package init?() {
    guard let context = vidicon_dtls_context_create() else { return nil }
    var fingerprint = [UInt8](repeating: 0, count: FingerprintAlgorithm.sha256.length)
    guard vidicon_dtls_context_fingerprint(context, &fingerprint) else {
      vidicon_dtls_context_destroy(context)
      return nil
    }
    self.context = context
    self.fingerprint = fingerprint
  }

  deinit {
    vidicon_dtls_context_destroy(self.context)
  }

  /// Makes one side of a DTLS association.
  package func makeEndpoint(role: DTLSRole, timeout: MediaDuration) -> (any DTLSEndpoint)? {
    let microseconds = UInt32(clamping: timeout.nanoseconds / 1000)
    guard let dtls = vidicon_dtls_create(self.context, role == .server, microseconds) else { return nil }
    return OpenSSLEndpoint(dtls)
  }

  /// Makes the cipher of one use and direction.
  package func makeCipher(profile: SRTPProfile, keys: SRTPSessionKeys, seals: Bool) -> (any SRTPCipher)? {
    precondition(keys.cipherKey.count == SRTPProfile.keyLength, "AES-128 has keys of 16 bytes")
    switch profile {
    case .aeadAES128GCM:
      return vidicon_srtp_gcm_create(keys.cipherKey, seals).map(OpenSSLCipher.init)
    case .aes128CMSHA1:
      precondition(keys.authenticationKey.count == 20, "HMAC-SHA1 has keys of 20 bytes here")
      return vidicon_srtp_cm_create(keys.cipherKey, keys.authenticationKey).map(OpenSSLCipher.init)
    }
  }
}
