#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The surface of a face as 468 or 478 points, and what can be measured on it. Left and right are the face's owner's.
public struct FaceMesh: Hashable, Sendable {
  /// The points: column, row, and depth (smaller is nearer), all in the same unit.
  public var points: [SIMD3<Float>]
  /// How likely there is a face at all, 0 to 1.
  public var presence: Float

  /// A mesh.
  ///
  /// - Parameter points: At least the 468 of the smaller model.
  public init(points: [SIMD3<Float>], presence: Float) {
    precondition(points.count >= Self.minimumPointCount, "a mesh has 468 or 478 points")
    self.points = points
    self.presence = presence
  }

  static let minimumPointCount = 468

  /// A mesh of as many points as a model has, all at 0.
  init(pointCount: Int) {
    self.init(points: Array(repeating: SIMD3(0, 0, 0), count: pointCount), presence: 0)
  }

  /// Takes over a model's outputs.
  ///
  /// - Parameters:
  ///   - values: Column, row and depth of each point, in pixels of the model's input.
  ///   - logit: The logarithm of the odds that there is a face.
  mutating func fill(_ values: UnsafeBufferPointer<Float>, logit: Float) {
    for index in self.points.indices {
      self.points[index] = SIMD3(values[3 * index], values[3 * index + 1], values[3 * index + 2])
    }
    self.presence = FaceMesh.share(logit)
  }

  /// The points around an eye.
  private struct Eye {
    var outer: Int
    var inner: Int
    /// Above, and below of each, first the outer ones.
    var lids: (Int, Int, Int, Int)
  }

  private static let rightEye = Eye(outer: 33, inner: 133, lids: (160, 144, 158, 153))
  private static let leftEye = Eye(outer: 263, inner: 362, lids: (387, 373, 385, 380))
  private static let (rightMouthCorner, leftMouthCorner, upperLip, lowerLip) = (61, 291, 13, 14)

  /// How far the right eye is open: its height by its width. Closed eyes have 0.01 to 0.07, open ones 0.24 to 0.35.
  public var rightEyeOpening: Float { self.opening(Self.rightEye) }

  /// How far the left eye is open.
  public var leftEyeOpening: Float { self.opening(Self.leftEye) }

  /// How far the face is turned to the right in the frame's plane, in radians.
  public var roll: Float {
    FaceCandidate.angle(self.flat(Self.leftEye.outer) - self.flat(Self.rightEye.outer))
  }

  /// How much the mouth smiles: its width by the distance of the eyes' outer corners, and twice how far its corners are
  /// above its centre. A mouth that cries can smile as well by this measure.
  public var smile: Float {
    let across = self.flat(Self.leftEye.outer) - self.flat(Self.rightEye.outer)
    let distance = Self.length(across)
    guard distance > 0 else { return 0 }
    let down = SIMD2(-across.y, across.x) / distance
    let corners = (self.flat(Self.rightMouthCorner) + self.flat(Self.leftMouthCorner)) / 2
    let center = (self.flat(Self.upperLip) + self.flat(Self.lowerLip)) / 2
    let lift = ((center - corners) * down).sum() / distance
    return Self.length(self.flat(Self.leftMouthCorner) - self.flat(Self.rightMouthCorner)) / distance + 2 * lift
  }

  /// The smallest upright box around all points: its left top, and its right bottom.
  public var bounds: (low: SIMD2<Float>, high: SIMD2<Float>) {
    var (low, high) = (self.flat(0), self.flat(0))
    for point in self.points {
      let flat = SIMD2(point.x, point.y)
      (low, high) = (pointwiseMin(low, flat), pointwiseMax(high, flat))
    }
    return (low, high)
  }

  private func opening(_ eye: Eye) -> Float {
    let width = Self.length(self.flat(eye.inner) - self.flat(eye.outer))
    let outer = Self.length(self.flat(eye.lids.1) - self.flat(eye.lids.0))
    let inner = Self.length(self.flat(eye.lids.3) - self.flat(eye.lids.2))
    return width > 0 ? (outer + inner) / (2 * width) : 0
  }

  private func flat(_ index: Int) -> SIMD2<Float> { SIMD2(self.points[index].x, self.points[index].y) }

  private static func length(_ vector: SIMD2<Float>) -> Float { (vector * vector).sum().squareRoot() }
}

extension FaceMesh {
  /// The share, 0 to 1, that belongs to the logarithm of odds.
  static func share(_ logit: Float) -> Float { 1 / (1 + expf(-logit)) }
}
