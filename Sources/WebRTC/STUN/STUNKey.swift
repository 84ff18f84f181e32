internal import Cryptography
internal import NIOCore

/// The key of a message integrity code, RFC 8489 §9.
package struct STUNKey: Sendable, CustomStringConvertible, CustomReflectable {
  private let key: HMACKey

  /// The short-term credential mechanism, §9.1: the password of the session, as ICE uses it.
  package init(password: String) {
    self.key = HMACKey(password.utf8)
  }

  /// The long-term credential mechanism, §9.2, with the algorithm MD5 of §18.5.1.
  ///
  /// - Parameter password: After the OpaqueString profile of RFC 8265; ASCII without control characters is unchanged by it.
  package init(username: String, realm: String, password: String) {
    self.key = HMACKey(HashAlgorithm.md5.digest(of: "\(username):\(realm):\(password)".utf8))
  }

  /// Only the type's name, so that no log has the key.
  package var description: String { "STUNKey" }

  /// A mirror without children, so that no dump has the key.
  package var customMirror: Mirror { Mirror(self, children: []) }

  /// HMAC-SHA1, 20 bytes, §14.5.
  func sha1(of message: some Sequence<UInt8>) -> [UInt8] {
    self.key.code(of: message, .sha1)
  }

  /// HMAC-SHA256, 32 bytes, §14.6.
  func sha256(of message: some Sequence<UInt8>) -> [UInt8] {
    self.key.code(of: message, .sha256)
  }
}
