package import Media

/// Reads bit fields, most significant bit first, without reading past the end.
package struct BitReader {
  private let bytes: [UInt8]
  /// Position of the next bit, counted from the start.
  package private(set) var position = 0

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Number of bits that were not read yet.
  package var remainingBits: Int {
    self.bytes.count * 8 - self.position
  }

  /// Index of the byte that contains the next bit.
  package var offset: Int {
    self.position / 8
  }

  /// Reads an unsigned number of 0 to 32 bits, `u(n)`.
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

  /// Reads one bit, `u(1)`.
  mutating func flag(_ field: String) throws(ParsingError) -> Bool {
    try self.bits(1, field) == 1
  }

  /// Reads an unsigned Exp-Golomb number, `ue(v)`, ITU-T H.264 §9.1: 0 to 2³² - 2, at most 31 leading zeros.
  ///
  /// - Parameter limit: Maximum value; larger ones throw `.invalid`.
  mutating func exponentialGolomb(_ field: String, upTo limit: UInt32 = .max) throws(ParsingError) -> UInt32 {
    let start = self.offset
    var leadingZeros = 0
    while try !self.flag(field) {
      leadingZeros += 1
      guard leadingZeros < 32 else { throw ParsingError(.invalid, field: field, offset: start) }
    }
    let suffix = try self.bits(leadingZeros, field)
    // No overflow: at most 31 zeros and a suffix of ones, 2³¹ - 1 + 2³¹ - 1.
    let value = (1 << UInt32(leadingZeros)) - 1 + suffix
    guard value <= limit else { throw ParsingError(.invalid, field: field, offset: start) }
    return value
  }

  /// Reads a signed Exp-Golomb number, `se(v)`, ITU-T H.264 §9.1.1.
  mutating func signedExponentialGolomb(_ field: String) throws(ParsingError) -> Int32 {
    let code = try self.exponentialGolomb(field)
    let magnitude = Int32(code / 2 + code % 2)
    return code % 2 == 1 ? magnitude : -magnitude
  }
}

/// Writes bit fields, most significant bit first.
struct BitWriter {
  /// Bytes written so far; the last one is padded with zeros.
  private(set) var bytes: [UInt8] = []
  private var freeBits = 0

  /// Pads with zeros up to the next byte.
  mutating func alignToByte() { self.freeBits = 0 }

  /// Appends the lowest `count` bits of a value, 0 to 32.
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
