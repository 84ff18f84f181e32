/// The CRC of program tables, ISO/IEC 13818-1 annex A: polynomial 0x04C11DB7, register preset to ones, bits not
/// reflected, result not inverted.
enum SectionCRC {
  /// The checksum of bytes; over a section with its CRC it is 0.
  static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
    // Bit by bit: two sections of some 30 bytes a segment are not worth a table.
    bytes.reduce(UInt32.max) { register, byte in
      (0..<8).reduce(register ^ UInt32(byte) << 24) { register, _ in
        register & 1 << 31 != 0 ? register << 1 ^ 0x04C1_1DB7 : register << 1
      }
    }
  }
}
