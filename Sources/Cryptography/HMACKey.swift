internal import CCryptography

/// A key of authentication codes, RFC 2104, which is erased at the end of its life.
package struct HMACKey: Sendable, CustomStringConvertible, CustomReflectable {
  private let bytes: ErasedBytes

  /// Copies a key of any length.
  package init(_ bytes: some Sequence<UInt8>) {
    self.bytes = ErasedBytes(bytes)
  }

  /// The authentication code of a message, of the length of the algorithm's digest.
  package func code(of message: some Sequence<UInt8>, _ algorithm: HashAlgorithm) -> [UInt8] {
    self.bytes.withBuffer { algorithm.authenticationCode(of: message, key: $0) }
  }

  /// Only the type's name, so that no log has the key.
  package var description: String { "HMACKey" }

  /// A mirror without children, so that no dump has the key.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Secret bytes in memory of their own, which are overwritten before it is freed.
// Safe because the bytes do not change between the initializer and the deinitializer.
private final class ErasedBytes: @unchecked Sendable {
  private let storage: UnsafeMutableBufferPointer<UInt8>

  init(_ bytes: some Sequence<UInt8>) {
    self.storage = bytes.withContiguousBytes { bytes in
      let storage = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
      _ = storage.initialize(fromContentsOf: bytes)
      return storage
    }
  }

  deinit {
    vidicon_erase(self.storage.baseAddress, self.storage.count)
    self.storage.deallocate()
  }

  func withBuffer<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    withExtendedLifetime(self) { body(UnsafeBufferPointer(self.storage)) }
  }
}
