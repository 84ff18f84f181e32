internal import Media

/// The sampling frequencies that AAC gives a number, ISO/IEC 14496-3 table 1.18.
enum AACSamplingFrequency {
  /// The index that says that the frequency follows in 24 bits.
  static let explicitIndex: UInt32 = 15

  private static let table = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  /// The frequency of an index; nil for 13 to 15.
  static func frequency(index: UInt32) -> Int? {
    index < Self.table.count ? Self.table[Int(index)] : nil
  }

  /// The index of a frequency; nil when it has none.
  static func index(of frequency: Int) -> UInt32? {
    Self.table.firstIndex(of: frequency).map { UInt32($0) }
  }

  /// An index, and the frequency behind it where it is explicit.
  static func read(_ reader: inout BitReader, _ field: String) throws(ParsingError) -> Int {
    let offset = reader.offset
    let index = try reader.bits(4, field)
    let frequency = index == Self.explicitIndex ? Int(try reader.bits(24, field)) : Self.frequency(index: index)
    guard let frequency, frequency > 0 else { throw ParsingError(.invalid, field: field, offset: offset) }
    return frequency
  }

  /// The reverse of ``read(_:_:)``; a frequency is at most 2²⁴ - 1.
  static func write(_ frequency: Int, to writer: inout BitWriter) {
    if let index = Self.index(of: frequency) {
      writer.write(index, bits: 4)
    } else {
      writer.write(Self.explicitIndex, bits: 4)
      writer.write(UInt32(truncatingIfNeeded: frequency), bits: 24)
    }
  }
}
