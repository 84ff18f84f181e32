internal import CCryptography

/// A hash function, by libcrypto.
package enum HashAlgorithm: Hashable, Sendable {
  /// MD5, RFC 1321: 16 bytes. Broken; for the logins whose standards have it.
  case md5
  /// SHA-1, RFC 3174: 20 bytes. Broken as a hash; for the authentication codes whose standards have it.
  case sha1
  /// SHA-256, RFC 6234: 32 bytes.
  case sha256

  /// Length of a digest in bytes.
  package var length: Int {
    switch self {
    case .md5: 16
    case .sha1: 20
    case .sha256: 32
    }
  }

  /// The digest of a message.
  package func digest(of message: some Sequence<UInt8>) -> [UInt8] {
    message.withContiguousBytes { message in
      self.filling { vidicon_hash(self.function, message.baseAddress, message.count, $0) }
    }
  }

  /// HMAC of a message, RFC 2104.
  func authenticationCode(of message: some Sequence<UInt8>, key: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    message.withContiguousBytes { message in
      self.filling {
        vidicon_hmac(self.function, key.baseAddress, key.count, message.baseAddress, message.count, $0)
      }
    }
  }

  /// A digest, whose bytes a function of C writes.
  private func filling(_ write: (UnsafeMutablePointer<UInt8>?) -> Bool) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: self.length) { digest, count in
      // The default provider of libcrypto has all of them; only memory can be lacking.
      guard write(digest.baseAddress) else { preconditionFailure("no memory for \(self)") }
      count = self.length
    }
  }

  private var function: vidicon_hash_function {
    switch self {
    case .md5: VIDICON_MD5
    case .sha1: VIDICON_SHA1
    case .sha256: VIDICON_SHA256
    }
  }
}

extension Sequence<UInt8> {
  /// Calls a body with the bytes, which are copied only where they are not contiguous in memory.
  func withContiguousBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    self.withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
  }
}
