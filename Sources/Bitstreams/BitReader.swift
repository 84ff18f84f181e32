package import Media

/// Reads fields of any number of bits, most significant bit first, and never past the end.
package struct BitReader {
  private let bytes: [UInt8]
  /// The next bit, counted from the start.
  package private(set) var position = 0

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The number of bits not yet read.
  package var remainingBits: Int {
    self.bytes.count * 8 - self.position
  }

  /// The byte that the next bit is in.
  package var offset: Int {
    self.position / 8
  }

  /// An unsigned number of 0 to 32 bits, `u(n)`.
  package mutating func bits(_ count: Int, _ field: String) throws(ParsingError) -> UInt32 {
    guard count <= self.remainingBits else { throw ParsingError(.truncated, field: field, offset: self.offset) }
    var value: UInt64 = 0
    var missing = count
    while missing > 0 {
      let left = 8 - self.position % 8
      let taken = min(left, missing)
      let chunk = self.bytes[self.position / 8] >> UInt8(left - taken) & UInt8(truncatingIfNeeded: 1 << taken - 1)
      value = value << UInt64(taken) | UInt64(chunk)
      self.position += taken
      missing -= taken
    }
    return UInt32(truncatingIfNeeded: value)
  }

  /// One bit.
  mutating func flag(_ field: String) throws(ParsingError) -> Bool {
    try self.bits(1, field) == 1
  }

  /// An unsigned Exp-Golomb number, `ue(v)`, ITU-T H.264 §9.1: 0 to 2³² - 2, which is 31 leading zeros at most.
  mutating func exponentialGolomb(_ field: String, upTo limit: UInt32 = .max) throws(ParsingError) -> UInt32 {
    let start = self.offset
    var leadingZeros = 0
    while try !self.flag(field) {
      leadingZeros += 1
      guard leadingZeros < 32 else { throw ParsingError(.invalid, field: field, offset: start) }
    }
    let suffix = try self.bits(leadingZeros, field)
    // 31 zeros and a suffix of ones make 2³¹ - 1 + 2³¹ - 1: no overflow.
    let value = (1 << UInt32(leadingZeros)) - 1 + suffix
    guard value <= limit else { throw ParsingError(.invalid, field: field, offset: start) }
    return value
  }

  /// A signed Exp-Golomb number, `se(v)`, ITU-T H.264 §9.1.1.
  mutating func signedExponentialGolomb(_ field: String) throws(ParsingError) -> Int32 {
    let code = try self.exponentialGolomb(field)
    let magnitude = Int32(code / 2 + code % 2)
    return code % 2 == 1 ? magnitude : -magnitude
  }
}

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
