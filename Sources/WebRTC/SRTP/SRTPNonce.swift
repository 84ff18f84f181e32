/// The nonce of a packet: session salt XOR SSRC and packet index.
///
/// ```
/// GCM, 12 bytes, RFC 7714 §8.1 and §9.1              0 0 | SSRC (4) | index (6)
/// counter mode, 16 bytes, RFC 3711 §4.1.1    0 0 0 0 | SSRC (4) | index (6) | 0 0
/// ```
///
/// The index is that of SRTP, 48 bits: rollover counter and sequence number; or that of SRTCP, 31 bits.
struct SRTPNonce {
  private let salt: SIMD16<UInt8>
  /// Position of the index, behind that of the SSRC.
  private let indexOffset: Int

  init(salt: [UInt8]) {
    var bytes = SIMD16<UInt8>()
    for (position, byte) in salt.enumerated() { bytes[position] = byte }
    self.salt = bytes
    self.indexOffset = salt.count - 6
  }

  func value(ssrc: UInt32, index: UInt64) -> SIMD16<UInt8> {
    var bytes = self.salt
    for position in 0..<4 {
      bytes[self.indexOffset - 4 + position] ^= UInt8(truncatingIfNeeded: ssrc >> UInt32(24 - 8 * position))
    }
    for position in 0..<6 {
      bytes[self.indexOffset + position] ^= UInt8(truncatingIfNeeded: index >> UInt64(40 - 8 * position))
    }
    return bytes
  }
}
