internal import NIOCore

/// A sequence of numbers as the tables `stts` and `ctts` have it, ISO/IEC 14496-12 §8.6.1: how often, and what.
struct RunLengths {
  /// Runs that have ended, 8 bytes each.
  private var runs = ByteBuffer()
  private var value: UInt32 = 0
  private var count: UInt32 = 0

  /// Whether there is nothing but zeros.
  var isAllZero: Bool { self.runs.readableBytes == 0 && (self.count == 0 || self.value == 0) }

  mutating func append(_ value: UInt32) {
    if value != self.value || self.count == .max {
      if self.count > 0 { self.runs.writeMultipleIntegers(self.count, self.value) }
      self.value = value
      self.count = 0
    }
    self.count += 1
  }

  /// Writes entry_count and the entries.
  func write(to buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt32(clamping: self.runs.readableBytes / 8 + (self.count > 0 ? 1 : 0)))
    buffer.writeImmutableBuffer(self.runs)
    if self.count > 0 { buffer.writeMultipleIntegers(self.count, self.value) }
  }
}
