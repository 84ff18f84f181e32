internal import NIOCore

extension ByteBuffer {
  /// Writes a box: its size, which is filled in afterwards, its type, and what a closure writes.
  mutating func writeBox(_ type: FourCharacterCode, _ writeContent: (inout ByteBuffer) -> Void) {
    let start = self.writerIndex
    self.writeInteger(UInt32(0))
    self.writeInteger(type.rawValue)
    writeContent(&self)
    // No trap: a ByteBuffer holds less than 4 GiB.
    self.setInteger(UInt32(self.writerIndex - start), at: start)
  }

  /// Writes a box with version and flags, a "full box".
  mutating func writeFullBox(
    _ type: FourCharacterCode, version: UInt8 = 0, flags: UInt32 = 0, _ writeContent: (inout ByteBuffer) -> Void
  ) {
    self.writeBox(type) {
      $0.writeInteger(UInt32(version) << 24 | flags)
      writeContent(&$0)
    }
  }

  /// Writes zeros of reserved fields.
  mutating func writeZeros(_ count: Int) {
    self.writeRepeatingByte(0, count: count)
  }

  /// Writes the matrix that changes nothing, as movie and tracks have it: 16.16 numbers, the last column 2.30.
  mutating func writeUnityMatrix() {
    for value: UInt32 in [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000] { self.writeInteger(value) }
  }
}
