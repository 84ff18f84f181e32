/// The surface of a face as 468 or 478 points, and what can be measured on it. Left and right are the face's owner's.
public struct FaceMesh: Hashable, Sendable {
  /// The points: column, row, and depth (smaller is nearer), all in the same unit.
  public var points: [SIMD3<Float>]
  /// How likely there is a face at all, 0 to 1.
  public var presence: Float

  /// A mesh.
  ///
  /// - Parameter points: At least the 468 of the smaller net.
  public init(points: [SIMD3<Float>], presence: Float) {
    precondition(points.count >= Self.minimumPointCount, "a mesh has 468 or 478 points")
    self.points = points
    self.presence = presence
  }

  static let minimumPointCount = 468

  /// A mesh out of a net's outputs.
  ///
  /// - Parameters:
  ///   - values: Column, row and depth of each point, in pixels of the net's input.
  ///   - logit: The logarithm of the odds that there is a face.
  init(values: UnsafeBufferPointer<Float>, logit: Float) {
    let points = stride(from: 0, to: values.count - 2, by: 3).map {
      SIMD3(values[$0], values[$0 + 1], values[$0 + 2])
    }
    self.init(points: points, presence: FaceMesh.share(logit))
  }

  /// The points around an eye: the outer corner, two above, the inner corner, two below.
  private static let rightEye = [33, 160, 158, 133, 153, 144]
  private static let leftEye = [263, 387, 385, 362, 380, 373]
  private static let (rightMouthCorner, leftMouthCorner, upperLip, lowerLip) = (61, 291, 13, 14)

  /// How far the right eye is open: its height by its width. Closed eyes have 0.01 to 0.07, open ones 0.24 to 0.35.
  public var rightEyeOpening: Float { self.opening(Self.rightEye) }

  /// How far the left eye is open.
  public var leftEyeOpening: Float { self.opening(Self.leftEye) }

  /// How far the face is turned to the right in the picture's plane, in radians.
  public var roll: Float {
    FaceCandidate.angle(self.flat(Self.leftEye[0]) - self.flat(Self.rightEye[0]))
  }

  /// How much the mouth smiles: its width by the distance of the eyes' outer corners, and twice how far its corners are
  /// above its centre. A mouth that cries can smile as well by this measure.
  public var smile: Float {
    let across = self.flat(Self.leftEye[0]) - self.flat(Self.rightEye[0])
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
    self.points.reduce((self.flat(0), self.flat(0))) { bounds, point in
      let flat = SIMD2(point.x, point.y)
      return (pointwiseMin(bounds.0, flat), pointwiseMax(bounds.1, flat))
    }
  }

  private func opening(_ eye: [Int]) -> Float {
    let p = eye.map(self.flat)
    let width = Self.length(p[3] - p[0])
    return width > 0 ? (Self.length(p[5] - p[1]) + Self.length(p[4] - p[2])) / (2 * width) : 0
  }

  private func flat(_ index: Int) -> SIMD2<Float> { SIMD2(self.points[index].x, self.points[index].y) }

  private static func length(_ vector: SIMD2<Float>) -> Float { (vector * vector).sum().squareRoot() }
}
