internal import Media

/// A machine-readable capture time in the pixels of a frame, to measure glass-to-glass latency.
///
/// 72 square cells lie along the top edge from the left, each `width / 80` pixels wide and high, rounded down to an even
/// number; luma 16 is 0 and 235 is 1, most significant bit first:
///
///     | 64 bits: microseconds since 1970-01-01 00:00 UTC | 8 bits: CRC-8 of those 8 bytes |
///
/// The CRC has the polynomial 0x07 and starts at 0. Cells of this size survive any encoder. Frames narrower than 160
/// pixels, or lower than a cell, have no strip.
public enum TimecodeStrip {
  /// Number of cells: 64 for the time and 8 for the CRC.
  public static let cellCount = 72

  /// Width and height of a cell in pixels; nil for frames without strip.
  public static func cellSize(width: Int, height: Int) -> Int? {
    let size = width / 160 * 2
    return size > 0 && size <= height ? size : nil
  }

  /// Draws the strip; does nothing when the frame is too small for one.
  ///
  /// - Parameters:
  ///   - microseconds: Capture time since 1970-01-01 00:00 UTC.
  ///   - luma: A luma plane, one byte per pixel, of at least (`height` - 1) × `bytesPerRow` + `width` bytes.
  public static func draw(
    microseconds: UInt64, into luma: UnsafeMutableRawBufferPointer, width: Int, height: Int, bytesPerRow: Int
  ) {
    guard let size = Self.cellSize(width: width, height: height) else { return }
    let plane = DrawingPlane(luma, width: width, height: height, bytesPerRow: bytesPerRow)
    let checksum = Self.checksum(of: microseconds)
    for cell in 0..<Self.cellCount {
      let bit = cell < 64 ? microseconds >> UInt64(63 - cell) & 1 : UInt64(checksum >> UInt8(71 - cell) & 1)
      plane.fill(x: cell * size, y: 0, width: size, height: size, value: bit == 0 ? 16 : 235)
    }
  }

  /// Reads the strip of a frame, which may have been encoded and decoded since it was drawn.
  ///
  /// - Parameter luma: A luma plane, one byte per pixel, of the size that was drawn, in limited or full range.
  /// - Returns: Microseconds since 1970-01-01 00:00 UTC; nil when there is no strip or its CRC does not match.
  public static func read(
    from luma: UnsafeRawBufferPointer, width: Int, height: Int, bytesPerRow: Int
  ) -> UInt64? {
    guard width > 0, height > 0, bytesPerRow >= width,
      let size = Self.cellSize(width: width, height: height),
      luma.count >= (size - 1) * bytesPerRow + Self.cellCount * size
    else { return nil }
    var microseconds: UInt64 = 0
    var checksum: UInt8 = 0
    for cell in 0..<Self.cellCount {
      let bit = Self.isBright(luma, x: cell * size, size: size, bytesPerRow: bytesPerRow)
      if cell < 64 {
        microseconds = microseconds << 1 | (bit ? 1 : 0)
      } else {
        checksum = checksum << 1 | (bit ? 1 : 0)
      }
    }
    // A black frame reads as time 0, whose CRC is 0.
    return microseconds != 0 && checksum == Self.checksum(of: microseconds) ? microseconds : nil
  }

  /// CRC-8 with the polynomial x⁸ + x² + x + 1, starting at 0, over the bytes of `value` in big-endian order.
  static func checksum(of value: UInt64) -> UInt8 {
    withUnsafeBytes(of: value.bigEndian) { Self.checksum(of: $0) }
  }

  /// CRC-8 with the polynomial x⁸ + x² + x + 1, starting at 0.
  static func checksum(of bytes: some Sequence<UInt8>) -> UInt8 {
    var checksum: UInt8 = 0
    for byte in bytes {
      checksum ^= byte
      for _ in 0..<8 {
        checksum = checksum << 1 ^ (checksum & 0x80 == 0 ? 0 : 0x07)
      }
    }
    return checksum
  }

  /// Whether the inner half of a cell is brighter than mid-range; encoders blur the edges.
  private static func isBright(_ luma: UnsafeRawBufferPointer, x: Int, size: Int, bytesPerRow: Int) -> Bool {
    let inner = size / 4..<size - size / 4
    var sum = 0
    for row in inner {
      for column in inner {
        sum += Int(luma[row * bytesPerRow + x + column])
      }
    }
    return sum > 126 * inner.count * inner.count
  }
}
