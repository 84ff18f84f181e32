/// Memory layout of pixels. RGB names give the order of the bytes in memory, lowest address first.
public enum PixelFormat: String, Hashable, Sendable, CaseIterable {
  /// 4:2:0 in two planes: luma, then interleaved Cb and Cr at half width and half height.
  case nv12
  /// 4:2:0 in three planes: luma, then Cb and Cr at half width and half height.
  case i420
  /// One plane, 4 bytes per pixel: blue, green, red, alpha.
  case bgra
  /// One plane, 4 bytes per pixel: alpha, red, green, blue.
  case argb
  /// One plane, 3 bytes per pixel: red, green, blue.
  case rgb24
  /// 4:2:2 in one plane, 4 bytes per two pixels: Y0, Cb, Y1, Cr.
  case yuyv

  /// Number of planes, 1 to 3.
  public var planeCount: Int {
    switch self {
    case .nv12: 2
    case .i420: 3
    case .bgra, .argb, .rgb24, .yuyv: 1
    }
  }

  /// Minimum number of bytes per row of a plane.
  ///
  /// - Parameters:
  ///   - plane: 0 to ``planeCount`` - 1.
  ///   - width: Width of the frame in pixels.
  public func minimumBytesPerRow(plane: Int, width: Int) -> Int {
    switch self {
    case .nv12: plane == 0 ? width : (width + 1) / 2 * 2
    case .i420: plane == 0 ? width : (width + 1) / 2
    case .bgra, .argb: width * 4
    case .rgb24: width * 3
    case .yuyv: (width + 1) / 2 * 4
    }
  }

  /// Number of rows of a plane.
  ///
  /// - Parameters:
  ///   - plane: 0 to ``planeCount`` - 1.
  ///   - height: Height of the frame in pixels.
  public func rowCount(plane: Int, height: Int) -> Int {
    switch self {
    case .nv12, .i420: plane == 0 ? height : (height + 1) / 2
    case .bgra, .argb, .rgb24, .yuyv: height
    }
  }

  /// Whether pixels are luma and color differences rather than red, green and blue.
  public var isYCbCr: Bool {
    switch self {
    case .nv12, .i420, .yuyv: true
    case .bgra, .argb, .rgb24: false
    }
  }
}

/// Conversion matrix between RGB and Y'CbCr in limited range: luma 16 to 235, Cb and Cr 16 to 240.
///
/// Raw values are MatrixCoefficients of ITU-T H.273 §8.3, as in the VUI parameters of H.264.
public enum ColorMatrix: UInt8, Hashable, Sendable {
  /// ITU-R BT.709: HD video files.
  case bt709 = 1
  /// ITU-R BT.601 (SMPTE 170M): standard definition, most webcams, and every frame that is converted from RGB.
  case bt601 = 6
}
