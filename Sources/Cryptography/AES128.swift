internal import CCryptography

/// AES with keys of 128 bits, FIPS 197.
package enum AES128 {
  /// Length of keys and blocks in bytes.
  package static let length = 16

  /// The first bytes of the key stream in counter mode, SP 800-38A §6.5.
  ///
  /// - Parameters:
  ///   - key: 16 bytes.
  ///   - counter: The first counter block, 16 bytes, which is a number in big-endian order.
  package static func keyStream(key: [UInt8], counter: [UInt8], count: Int) -> [UInt8] {
    precondition(key.count == Self.length && counter.count == Self.length, "AES-128 has keys and blocks of 16 bytes")
    return [UInt8](unsafeUninitializedCapacity: count) { stream, length in
      // The default provider of libcrypto has AES; only memory can be lacking.
      guard vidicon_aes128_key_stream(key, counter, stream.baseAddress, count) else {
        preconditionFailure("no memory for AES-128")
      }
      length = count
    }
  }
}
