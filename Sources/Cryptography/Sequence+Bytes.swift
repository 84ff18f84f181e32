extension Sequence<UInt8> {
  /// Calls a body with the bytes, which are copied only where they are not contiguous in memory.
  func withContiguousBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    self.withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
  }
}
