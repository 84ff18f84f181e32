#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A square of a frame that shows a face upright, in pixels: what a mesh model looks at.
public struct FaceRegion: Hashable, Sendable {
  /// The square's centre.
  public var center: SIMD2<Float>
  /// The square's width and height.
  public var side: Float
  /// How far the square is turned to the right, in radians.
  public var roll: Float

  /// A region.
  public init(center: SIMD2<Float>, side: Float, roll: Float) {
    self.center = center
    self.side = side
    self.roll = roll
  }

  /// How much larger than a face's box the region is: models were trained with this much around it.
  private static let margin: Float = 1.5

  /// The region of a face that a detector has found.
  public init(_ candidate: FaceCandidate) {
    self.init(center: candidate.center, side: candidate.size.max() * Self.margin, roll: candidate.roll)
  }

  /// The region of a face whose mesh, in pixels of the frame, was found in the frame before.
  public init(_ mesh: FaceMesh) {
    let roll = mesh.roll
    let upright = FaceRegion(center: SIMD2(0, 0), side: 1, roll: roll)
    // The box along the turned axes.
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

  /// The direction in the frame of the region's rows, and of its columns; of length 1.
  var right: SIMD2<Float> { SIMD2(cosf(self.roll), sinf(self.roll)) }
  var down: SIMD2<Float> { SIMD2(-sinf(self.roll), cosf(self.roll)) }
}
