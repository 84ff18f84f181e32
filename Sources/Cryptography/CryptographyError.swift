internal import CCryptography

/// A failure to make or write a key or a certificate: memory or random numbers are lacking, or a value does not fit.
package struct CryptographyError: Error, Hashable, CustomStringConvertible {
  /// The reason in the words of libcrypto.
  package let description: String

  /// The last failure of this thread.
  init() {
    self.description = vidicon_failure().map { String(cString: $0) } ?? "libcrypto does not say why"
  }
}
