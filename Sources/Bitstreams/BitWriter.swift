/// Writes fields of any number of bits, most significant bit first.
struct BitWriter {
  /// The bytes so far; the last is filled up with zeros.
  private(set) var bytes: [UInt8] = []
  private var freeBits = 0

  /// Appends the lowest `count` bits of a value.
  mutating func write(_ value: UInt32, bits count: Int) {
    for bit in stride(from: count - 1, through: 0, by: -1) {
      if self.freeBits == 0 {
        self.bytes.append(0)
        self.freeBits = 8
      }
      self.freeBits -= 1
      self.bytes[self.bytes.count - 1] |= UInt8(value >> UInt32(bit) & 1) << UInt8(self.freeBits)
    }
  }
}
