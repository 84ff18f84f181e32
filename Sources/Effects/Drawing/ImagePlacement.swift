/// Affine mapping from an image to a frame: pixel (x, y), relative to the image's top left corner, is drawn at `origin
/// + x * right + y * down`.
struct ImagePlacement: Hashable {
  var origin: SIMD2<Float>
  var right: SIMD2<Float>
  var down: SIMD2<Float>

  /// Places an image upright to fill a box.
  init(x: Float, y: Float, width: Float, height: Float, of image: (width: Int, height: Int)) {
    self.origin = SIMD2(x, y)
    self.right = SIMD2(width / Float(image.width), 0)
    self.down = SIMD2(0, height / Float(image.height))
  }

  /// Rotates, scales and moves an image so that two of its points coincide with two points of the frame.
  ///
  /// - Parameter stretch: Vertical scale relative to the image's own proportions.
  init(
    _ first: SIMD2<Float>, _ second: SIMD2<Float>, upon target: SIMD2<Float>, _ other: SIMD2<Float>, stretch: Float = 1
  ) {
    let (across, mapped) = (second - first, other - target)
    let length = (across * across).sum()
    // The quotient of both directions as complex numbers: rotation and scale.
    let turn =
      SIMD2(
        (mapped * across).sum(), mapped.y * across.x - mapped.x * across.y) / length
    self.right = turn
    self.down = SIMD2(-turn.y, turn.x) * stretch
    self.origin = target - self.right * first.x - self.down * first.y
  }

  /// Maps a point of the image to the frame.
  func callAsFunction(_ point: SIMD2<Float>) -> SIMD2<Float> {
    self.origin + self.right * point.x + self.down * point.y
  }

  /// The mapping from the frame to the image.
  ///
  /// Nil when the mapping is not invertible.
  var inverse: ImagePlacement? {
    let area = self.right.x * self.down.y - self.right.y * self.down.x
    guard area.isFinite, abs(area) > 1e-9 else { return nil }
    var inverse = self
    inverse.right = SIMD2(self.down.y, -self.right.y) / area
    inverse.down = SIMD2(-self.down.x, self.right.x) / area
    inverse.origin = -(inverse.right * self.origin.x + inverse.down * self.origin.y)
    return inverse
  }
}
