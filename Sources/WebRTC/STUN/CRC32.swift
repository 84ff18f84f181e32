/// The cyclic redundancy check of ITU-T V.42 §8.1.1.6.2, which Ethernet, ZIP and STUN's FINGERPRINT use.
enum CRC32 {
  /// Remainders of the 256 bytes for the reflected polynomial 0xEDB88320.
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { remainder, _ in remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0xEDB8_8320 }
  }

  /// Computes the check of some bytes.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { $0 >> 8 ^ Self.table[Int(($0 ^ UInt32($1)) & 0xFF)] }
  }
}
