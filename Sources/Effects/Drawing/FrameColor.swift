public import Media

/// A color in limited-range Y, Cb, Cr.
public struct FrameColor: Hashable, Sendable {
  /// Luma: 16 (black) to 235 (white).
  public var luma: UInt8
  /// Blue difference (Cb): 16 to 240, 128 for gray.
  public var cb: UInt8
  /// Red difference (Cr): 16 to 240, 128 for gray.
  public var cr: UInt8

  /// Creates a gray from 16 (black) to 235 (white).
  public init(luma: UInt8) {
    (self.luma, self.cb, self.cr) = (luma, 128, 128)
  }

  /// Converts red, green and blue to the color of a matrix.
  public init(red: UInt8, green: UInt8, blue: UInt8, matrix: ColorMatrix = .bt601) {
    let weights = matrix.weights
    func sum(_ row: Int, _ offset: Int32) -> UInt8 {
      let value = weights[row] * Int32(red) + weights[row + 1] * Int32(green) + weights[row + 2] * Int32(blue)
      return UInt8(clamping: (value + 32768) >> 16 + offset)
    }
    (self.luma, self.cb, self.cr) = (sum(0, 16), sum(3, 128), sum(6, 128))
  }
}
