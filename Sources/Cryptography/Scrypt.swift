internal import CCryptography

/// The function scrypt, RFC 7914, which takes time and memory for each guess of a password.
package enum Scrypt {
  /// Derives a key from a password.
  ///
  /// - Parameters:
  ///   - rounds: The cost N, a power of 2 above 1. Memory is 128 · N · r bytes.
  ///   - blockSize: The parameter r.
  ///   - parallelism: The parameter p.
  /// - Returns: nil for invalid parameters, for more memory than 32 MiB, and without memory.
  package static func derive(
    _ password: some Sequence<UInt8>, salt: some Sequence<UInt8>, rounds: Int, blockSize: Int, parallelism: Int,
    count: Int
  ) -> [UInt8]? {
    guard rounds > 0, blockSize > 0, parallelism > 0, count > 0 else { return nil }
    var key = [UInt8](repeating: 0, count: count)
    let isDerived = password.withContiguousBytes { password in
      salt.withContiguousBytes { salt in
        vidicon_scrypt(
          password.baseAddress, password.count, salt.baseAddress, salt.count, UInt64(rounds), UInt64(blockSize),
          UInt64(parallelism), &key, count)
      }
    }
    return isDerived ? key : nil
  }
}
