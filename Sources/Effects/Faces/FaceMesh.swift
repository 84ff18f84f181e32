internal import Libc

/// The surface of a face as 468 or 478 points, with measures of eyes and mouth. Left and right are the person's.
public struct FaceMesh: Hashable, Sendable {
  /// Column, row and depth (smaller is nearer) of each point, in the same unit.
  public var points: [SIMD3<Float>]
  /// Confidence that there is a face, 0 to 1.
  public var presence: Float

  /// Creates a mesh.
  ///
  /// - Parameter points: At least the 468 points of the smaller model.
  public init(points: [SIMD3<Float>], presence: Float) {
    precondition(points.count >= Self.minimumPointCount, "a mesh has 468 or 478 points")
    self.points = points
    self.presence = presence
  }

  static let minimumPointCount = 468

  /// Creates a mesh with a model's number of points, all at 0.
  init(pointCount: Int) {
    self.init(points: Array(repeating: SIMD3(0, 0, 0), count: pointCount), presence: 0)
  }

  /// Replaces the points by a model's outputs.
  ///
  /// - Parameters:
  ///   - values: Column, row and depth of each point, in pixels of the model's input.
  ///   - logit: Logarithm of the odds that there is a face.
  mutating func fill(_ values: UnsafeBufferPointer<Float>, logit: Float) {
    for index in self.points.indices {
      self.points[index] = SIMD3(values[3 * index], values[3 * index + 1], values[3 * index + 2])
    }
    self.presence = FaceMesh.share(logit)
  }

  /// Indices of the points around an eye.
  private struct Eye {
    var outer: Int
    var inner: Int
    /// Upper and lower lid, the outer pair first.
    var lids: (Int, Int, Int, Int)
  }

  private static let rightEye = Eye(outer: 33, inner: 133, lids: (160, 144, 158, 153))
  private static let leftEye = Eye(outer: 263, inner: 362, lids: (387, 373, 385, 380))
  private static let (rightMouthCorner, leftMouthCorner, upperLip, lowerLip) = (61, 291, 13, 14)

  /// Opening of the right eye: height divided by width. Closed eyes have 0.01 to 0.07, open ones 0.24 to 0.35.
  public var rightEyeOpening: Float { self.opening(Self.rightEye) }

  /// Opening of the left eye: height divided by width, as ``rightEyeOpening``.
  public var leftEyeOpening: Float { self.opening(Self.leftEye) }

  /// Clockwise rotation in the plane of the frame, in radians.
  public var roll: Float {
    FaceCandidate.angle(self.flat(Self.leftEye.outer) - self.flat(Self.rightEye.outer))
  }

  /// Smile measure: the mouth's width relative to the distance of the outer eye corners, plus twice the height of its
  /// corners above its center. A crying mouth can have the value of a smile.
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

  /// Bounding box of all points: top left and bottom right.
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
  /// Probability for a logit (logistic function).
  static func share(_ logit: Float) -> Float { 1 / (1 + expf(-logit)) }
}
