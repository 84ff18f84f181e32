/// Which points of a mask's image come to lie upon the eyes, or upon the mouth's corners: in shares of the image's width and
/// height, from its left top corner. As JSON: `{"left": [0.3, 0.5], "right": [0.7, 0.5]}`.
public struct MaskAnchors: Hashable, Sendable, Codable {
  /// Upon the eye, or the corner of the mouth, that is left in a frame of an upright face.
  public var left: SIMD2<Float>
  /// Upon the other one.
  public var right: SIMD2<Float>

  /// Anchors.
  public init(left: SIMD2<Float>, right: SIMD2<Float>) {
    (self.left, self.right) = (left, right)
  }

  /// Where most images that are made for a part have them.
  public init(for part: FaceMask.Part) {
    switch part {
    // A face or a head that fills the image.
    case .face: self.init(left: SIMD2(0.3, 0.42), right: SIMD2(0.7, 0.42))
    // Glasses from end to end.
    case .eyes: self.init(left: SIMD2(0.25, 0.5), right: SIMD2(0.75, 0.5))
    // Lips, or a beard, from corner to corner.
    case .mouth: self.init(left: SIMD2(0.1, 0.5), right: SIMD2(0.9, 0.5))
    }
  }
}
