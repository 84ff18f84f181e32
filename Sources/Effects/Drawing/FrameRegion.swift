internal import CEffects

/// Region of a frame with even coordinates, except at the right and bottom edge of a frame of odd size.
struct FrameRegion: Hashable {
  let x: Int
  let y: Int
  let width: Int
  let height: Int

  /// Creates the region of a whole frame.
  init(width: Int, height: Int) {
    (self.x, self.y, self.width, self.height) = (0, 0, width, height)
  }

  /// Intersects a box with a frame and extends it to even coordinates; nil when empty.
  init?(from low: SIMD2<Float>, to high: SIMD2<Float>, width: Int, height: Int) {
    func bounded(_ value: Float, _ limit: Int) -> Float { max(0, min(value, Float(limit))) }
    // Comparisons with NaN are false.
    guard low.x < high.x, low.y < high.y else { return nil }
    let (left, top) = (Int(bounded(low.x, width)) & ~1, Int(bounded(low.y, height)) & ~1)
    let right = min(width, (Int(bounded(high.x, width).rounded(.up)) + 1) & ~1)
    let bottom = min(height, (Int(bounded(high.y, height).rounded(.up)) + 1) & ~1)
    guard left < right, top < bottom else { return nil }
    (self.x, self.y, self.width, self.height) = (left, top, right - left, bottom - top)
  }

  var raw: vidicon_area { vidicon_area(x: self.x, y: self.y, width: self.width, height: self.height) }
}
