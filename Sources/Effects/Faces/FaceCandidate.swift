/// What a detector says of one place: there may be a face, with a box and six points. Places and sizes are in units of the
/// area that it looked at, or of whatever ``moved(by:scaledBy:)`` has made of them.
public struct FaceCandidate: Hashable, Sendable {
  /// The points of a face, left and right as the face's owner says.
  public enum Point: Int, CaseIterable, Sendable {
    /// The right eye, which is on the left in a picture that is not mirrored.
    case rightEye
    /// The left eye.
    case leftEye
    /// The nose's tip.
    case noseTip
    /// The mouth's centre.
    case mouth
    /// Where the right ear begins.
    case rightEar
    /// Where the left ear begins.
    case leftEar
  }

  /// The box's centre.
  public var center: SIMD2<Float>
  /// The box's width and height.
  public var size: SIMD2<Float>
  /// Six points in the order of ``Point``.
  public var points: [SIMD2<Float>]
  /// How likely it is a face, 0 to 1.
  public var score: Float

  /// A candidate.
  public init(center: SIMD2<Float>, size: SIMD2<Float>, points: [SIMD2<Float>], score: Float) {
    self.center = center
    self.size = size
    self.points = points
    self.score = score
  }

  /// One of the six points.
  public subscript(_ point: Point) -> SIMD2<Float> { self.points[point.rawValue] }

  /// How far the face is turned to the right in the picture's plane, in radians: the angle of the line of the eyes.
  public var roll: Float {
    let across = self[.leftEye] - self[.rightEye]
    return Self.angle(across)
  }

  /// The same candidate in other units: first scaled, then moved.
  public func moved(by offset: SIMD2<Float>, scaledBy scale: SIMD2<Float>) -> FaceCandidate {
    FaceCandidate(
      center: self.center * scale + offset, size: self.size * scale, points: self.points.map { $0 * scale + offset },
      score: self.score)
  }

  /// The part that two boxes share of the area that either has, 0 to 1.
  public func overlap(with other: FaceCandidate) -> Float {
    let low = pointwiseMax(self.center - self.size / 2, other.center - other.size / 2)
    let high = pointwiseMin(self.center + self.size / 2, other.center + other.size / 2)
    let shared = max(0, high.x - low.x) * max(0, high.y - low.y)
    let all = self.size.x * self.size.y + other.size.x * other.size.y - shared
    return all > 0 ? shared / all : 0
  }

  /// Leaves of candidates for one face the likeliest (non-maximum suppression): each that overlaps a likelier one by more
  /// than `limit` goes. The candidates may come from several areas that overlap.
  ///
  /// - Returns: The likeliest first.
  public static func suppress(_ candidates: [FaceCandidate], limit: Float = 0.3) -> [FaceCandidate] {
    var kept: [FaceCandidate] = []
    for candidate in candidates.sorted(by: { $0.score > $1.score })
    where kept.allSatisfy({ $0.overlap(with: candidate) <= limit }) {
      kept.append(candidate)
    }
    return kept
  }
}
