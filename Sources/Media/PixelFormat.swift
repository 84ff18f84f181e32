/// How the pixels of a picture lie in memory. Names give the order of the bytes in memory, lowest address first.
public enum PixelFormat: String, Hashable, Sendable, CaseIterable {
  /// 4:2:0 in two planes: luma, then Cb and Cr in turn at half width and half height.
  case nv12
  /// 4:2:0 in three planes: luma, Cb, Cr, the latter at half width and half height.
  case i420
  /// One plane, 4 bytes a pixel: blue, green, red, alpha.
  case bgra
  /// One plane, 4 bytes a pixel: alpha, red, green, blue.
  case argb
  /// One plane, 3 bytes a pixel: red, green, blue.
  case rgb24
  /// 4:2:2 in one plane, 4 bytes for two pixels: Y0, Cb, Y1, Cr.
  case yuyv

  /// The number of planes: 1 to 3.
  public var planeCount: Int {
    switch self {
    case .nv12: 2
    case .i420: 3
    case .bgra, .argb, .rgb24, .yuyv: 1
    }
  }

  /// The fewest bytes that a row of a plane takes at a width in pixels.
  public func minimumBytesPerRow(plane: Int, width: Int) -> Int {
    switch self {
    case .nv12: plane == 0 ? width : (width + 1) / 2 * 2
    case .i420: plane == 0 ? width : (width + 1) / 2
    case .bgra, .argb: width * 4
    case .rgb24: width * 3
    case .yuyv: (width + 1) / 2 * 4
    }
  }

  /// The number of rows of a plane at a height in pixels.
  public func rowCount(plane: Int, height: Int) -> Int {
    switch self {
    case .nv12, .i420: plane == 0 ? height : (height + 1) / 2
    case .bgra, .argb, .rgb24, .yuyv: height
    }
  }

  /// Whether the pixels are luma and colour differences rather than red, green and blue.
  public var isYCbCr: Bool {
    switch self {
    case .nv12, .i420, .yuyv: true
    case .bgra, .argb, .rgb24: false
    }
  }
}

/// How luma and colour differences are made from red, green and blue, in the "limited" range: luma 16 to 235, Cb and
/// Cr 16 to 240.
///
/// The raw values are those of ITU-T H.273 §8.3 (MatrixCoefficients), as in an H.264 stream's VUI.
public enum ColorMatrix: UInt8, Hashable, Sendable {
  /// ITU-R BT.709: what HD video files use.
  case bt709 = 1
  /// ITU-R BT.601 (SMPTE 170M): standard definition, most webcams, and every picture made here from RGB.
  case bt601 = 6
}
