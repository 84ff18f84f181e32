#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Rotated square of a frame that shows a face upright, in pixels: the input of a mesh model.
public struct FaceRegion: Hashable, Sendable {
  /// Centre of the square.
  public var center: SIMD2<Float>
  /// Width and height of the square.
  public var side: Float
  /// Clockwise rotation of the square, in radians.
  public var roll: Float

  /// Creates a region.
  public init(center: SIMD2<Float>, side: Float, roll: Float) {
    self.center = center
    self.side = side
    self.roll = roll
  }

  /// Size of the region relative to the face's box: the models were trained with this margin.
  private static let margin: Float = 1.5

  /// Creates the region of a detected face.
  public init(_ candidate: FaceCandidate) {
    self.init(center: candidate.center, side: candidate.size.max() * Self.margin, roll: candidate.roll)
  }

  /// Creates the region of a face from its mesh in the previous frame, in pixels of the frame.
  public init(_ mesh: FaceMesh) {
    let roll = mesh.roll
    let upright = FaceRegion(center: SIMD2(0, 0), side: 1, roll: roll)
    // Bounding box along the rotated axes.
    var low = SIMD2<Float>(repeating: .infinity)
    var high = -low
    for point in mesh.points {
      let place = SIMD2((upright.right * SIMD2(point.x, point.y)).sum(), (upright.down * SIMD2(point.x, point.y)).sum())
      low = pointwiseMin(low, place)
      high = pointwiseMax(high, place)
    }
    let middle = (low + high) / 2
    self.init(
      center: upright.right * middle.x + upright.down * middle.y, side: (high - low).max() * Self.margin, roll: roll)
  }

  /// Unit vectors, in the frame, along the region's rows and columns.
  var right: SIMD2<Float> { SIMD2(cosf(self.roll), sinf(self.roll)) }
  var down: SIMD2<Float> { SIMD2(-sinf(self.roll), cosf(self.roll)) }
}
