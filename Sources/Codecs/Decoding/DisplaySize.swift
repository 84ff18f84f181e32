package import CLibav
package import Media

/// Size of a frame in square pixels. Pure.
///
/// DVB, DVD, and cameras with half the columns have pixels that are wider or narrower than high.
package struct DisplaySize: Hashable {
  /// Width in square pixels, even unless it is the frame's.
  package let width: Int
  /// Height in square pixels, even unless it is the frame's.
  package let height: Int

  /// Ratios beyond are taken for mistakes.
  private static let ratios = 0.25...4
  /// Maximum width and height.
  private static let maximum = 16_384.0

  /// - Parameters:
  ///   - width: Columns, at least 1.
  ///   - height: Rows, at least 1.
  ///   - pixel: Ratio of a pixel's width to its height; 0 where it is not known.
  package init(width: Int, height: Int, pixel: AVRational) {
    let ratio = pixel.num > 0 && pixel.den > 0 ? Double(pixel.num) / Double(pixel.den) : 1
    // Enlarged in one direction, so that no detail is lost.
    let (wide, high) = ratio > 1 ? (Double(width) * ratio, Double(height)) : (Double(width), Double(height) / ratio)
    guard Self.ratios.contains(ratio), abs(ratio - 1) > 0.005, max(wide, high) <= Self.maximum else {
      (self.width, self.height) = (width, height)
      return
    }
    self.width = ratio > 1 ? Self.even(wide) : width
    self.height = ratio > 1 ? height : Self.even(high)
  }

  /// Rectangle within frames of a format, at even places, that shows it unstretched, as large as possible.
  package func fitted(into format: VideoFormat) -> (x: Int, y: Int, width: Int, height: Int) {
    let scale = min(Double(format.width) / Double(self.width), Double(format.height) / Double(self.height))
    let (width, height) = (Double(self.width) * scale, Double(self.height) * scale)
    // Rounding leaves no bars.
    let isWhole = (width: Double(format.width) - width < 3, height: Double(format.height) - height < 3)
    let fitted = (
      width: isWhole.width ? format.width : max(2, Self.even(width)),
      height: isWhole.height ? format.height : max(2, Self.even(height))
    )
    return (
      (format.width - fitted.width) / 2 & ~1, (format.height - fitted.height) / 2 & ~1, fitted.width, fitted.height
    )
  }

  private static func even(_ value: Double) -> Int { Int((value / 2).rounded()) * 2 }
}
