internal import CCryptography

/// A private key, which libcrypto erases at the end of its life.
package final class PrivateKey: Sendable {
  // Safe because libcrypto's key is not changed after it was made, and may be read by several threads.
  nonisolated(unsafe) let pointer: OpaquePointer

  /// Generates a key on the curve P-256, FIPS 186-5, with random numbers of libcrypto.
  package init() throws(CryptographyError) {
    guard let pointer = vidicon_key_generate() else { throw CryptographyError() }
    self.pointer = pointer
  }

  /// Adopts a key of libcrypto, and destroys it at the end.
  init(adopting pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    vidicon_key_destroy(self.pointer)
  }

  /// The key in PKCS #8 and PEM, RFC 7468 §10, with a line end behind it.
  package var pem: String {
    get throws(CryptographyError) {
      guard let bytes = [UInt8](moving: vidicon_key_pem(self.pointer)) else { throw CryptographyError() }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}

extension [UInt8] {
  /// Copies the bytes of a buffer of C, which is erased and freed; nil without one.
  init?(moving buffer: OpaquePointer?) {
    guard let buffer else { return nil }
    defer { vidicon_buffer_destroy(buffer) }
    var count = 0
    let start = vidicon_buffer_bytes(buffer, &count)
    self.init(UnsafeBufferPointer(start: start, count: count))
  }
}

/// A failure to make or write a key or a certificate: memory or random numbers are lacking, or a value does not fit.
package struct CryptographyError: Error, Hashable, CustomStringConvertible {
  /// The reason in the words of libcrypto.
  package let description: String

  /// The last failure of this thread.
  init() {
    self.description = vidicon_failure().map { String(cString: $0) } ?? "libcrypto does not say why"
  }
}
