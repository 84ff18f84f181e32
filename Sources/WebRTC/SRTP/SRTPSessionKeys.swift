internal import Cryptography

/// Session keys of SRTP or SRTCP in one direction, derived with AES in counter mode, RFC 3711 §4.3. The key derivation rate
/// is 0: they are derived once.
package struct SRTPSessionKeys: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The AES key, 16 bytes.
  package let cipherKey: [UInt8]
  /// The key of HMAC-SHA1, 20 bytes; empty with GCM.
  package let authenticationKey: [UInt8]
  /// Salt of the nonces: 12 bytes with GCM, else 14.
  package let salt: [UInt8]

  /// Protocol of the keys, RFC 3711 §4.3.1 and §4.3.2; the value is the label of the cipher key, the others follow it.
  package enum Use: UInt8, Hashable, Sendable {
    case srtp = 0
    case srtcp = 3
  }

  /// Derives the keys of one use.
  package init(master: SRTPMasterKey, profile: SRTPProfile, use: Use) {
    self.cipherKey = Self.derive(master, label: use.rawValue, length: SRTPProfile.keyLength)
    self.authenticationKey = Self.derive(master, label: use.rawValue + 1, length: profile.authenticationKeyLength)
    self.salt = Self.derive(master, label: use.rawValue + 2, length: profile.saltLength)
  }

  /// Keys that are known, as those of test vectors.
  package init(cipherKey: [UInt8], authenticationKey: [UInt8], salt: [UInt8]) {
    self.cipherKey = cipherKey
    self.authenticationKey = authenticationKey
    self.salt = salt
  }

  /// Only the type's name, so that no log has the keys.
  package var description: String { "SRTPSessionKeys" }

  /// A mirror without children, so that no dump has the keys.
  package var customMirror: Mirror { Mirror(self, children: []) }

  /// The first bytes of the key stream of AES in counter mode, whose counter block starts with the salt XOR the label.
  static func derive(_ master: SRTPMasterKey, label: UInt8, length: Int) -> [UInt8] {
    // The salt of GCM is extended to 14 bytes by zeros, RFC 7714 §11; two bytes of counter follow.
    var counter = master.salt + [UInt8](repeating: 0, count: AES128.length - master.salt.count)
    counter[7] ^= label
    return AES128.keyStream(key: master.key, counter: counter, count: length)
  }
}
