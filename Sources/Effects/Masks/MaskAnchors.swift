/// Points of a mask image that are mapped to the eyes, or to the mouth's corners, as fractions of the image's width
/// and height from its top left corner. As JSON: `{"left": [0.3, 0.5], "right": [0.7, 0.5]}`.
public struct MaskAnchors: Hashable, Sendable, Codable {
  /// Point mapped to the eye, or mouth corner, on the left side of an upright frame.
  public var left: SIMD2<Float>
  /// Point mapped to the eye, or mouth corner, on the right side of an upright frame.
  public var right: SIMD2<Float>

  /// Creates anchors from two points, each a fraction of the image's width and height.
  public init(left: SIMD2<Float>, right: SIMD2<Float>) {
    (self.left, self.right) = (left, right)
  }

  /// Creates the default anchors for a part: those of most images made for it.
  public init(for part: FaceMask.Part) {
    switch part {
    // A face or head that fills the image.
    case .face: self.init(left: SIMD2(0.3, 0.42), right: SIMD2(0.7, 0.42))
    // Glasses that span the image.
    case .eyes: self.init(left: SIMD2(0.25, 0.5), right: SIMD2(0.75, 0.5))
    // Lips, or a beard, that span the image.
    case .mouth: self.init(left: SIMD2(0.1, 0.5), right: SIMD2(0.9, 0.5))
    }
  }
}
