/// Decoder of the timecode strip: the capture time in the top-left corner of each frame of `bars`.
///
/// 72 square cells, `width / 80` rounded down to even pixels wide, dark for 0 and bright for 1, most significant bit
/// first: 64 bits of microseconds since 1970, then the CRC-8 (polynomial 0x07, initial value 0) of those 8 bytes.
enum Timecode {
  static let cellCount = 72

  /// Side length of a cell in pixels.
  static func cellSize(width: Int) -> Int {
    width / 80 / 2 * 2
  }

  /// Reads the strip from the topmost rows of a frame.
  ///
  /// - Parameter rows: Luma, `width` bytes a row, at least as many rows as a cell has.
  /// - Returns: Microseconds since 1970, or nil on a checksum mismatch.
  static func read(_ rows: ArraySlice<UInt8>, width: Int) -> Int64? {
    let cell = self.cellSize(width: width)
    let bits = (0..<self.cellCount).map { index in
      rows[rows.startIndex + cell / 2 * width + index * cell + cell / 2] > 125
    }
    let bytes = stride(from: 0, to: self.cellCount, by: 8).map { start in
      bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    guard self.checksum(bytes.dropLast()) == bytes[8] else { return nil }
    return Int64(bitPattern: bytes.dropLast().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt8 {
    bytes.reduce(UInt8(0)) { sum, byte in
      (0..<8).reduce(sum ^ byte) { rest, _ in rest & 0x80 == 0 ? rest << 1 : rest << 1 ^ 0x07 }
    }
  }
}
