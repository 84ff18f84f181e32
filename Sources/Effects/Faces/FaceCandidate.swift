internal import Libc
internal import Media

/// A possible face found by a detector: a box, six key points and a score. Positions and sizes are in units of the
/// searched area, or of the result of ``moved(by:scaledBy:)``.
public struct FaceCandidate: Hashable, Sendable {
  /// Center of the box: column and row.
  public var center: SIMD2<Float>
  /// Width and height of the box.
  public var size: SIMD2<Float>
  /// Eyes, nose, mouth and ears, in the unit of ``center``.
  public var keyPoints: Face.KeyPoints
  /// Confidence that this is a face, 0 to 1.
  public var score: Float

  /// Creates a candidate; all positions and sizes are in the same unit.
  public init(center: SIMD2<Float>, size: SIMD2<Float>, keyPoints: Face.KeyPoints, score: Float) {
    self.center = center
    self.size = size
    self.keyPoints = keyPoints
    self.score = score
  }

  /// Clockwise rotation in the plane of the frame, in radians: the angle of the line through the eyes.
  public var roll: Float {
    Self.angle(self.keyPoints.leftEye - self.keyPoints.rightEye)
  }

  /// Maps the candidate to other coordinates: multiplies positions and size by `scale`, then adds `offset` to
  /// positions.
  public func moved(by offset: SIMD2<Float>, scaledBy scale: SIMD2<Float>) -> FaceCandidate {
    FaceCandidate(
      center: self.center * scale + offset, size: self.size * scale,
      keyPoints: self.keyPoints.mapped { $0 * scale + offset }, score: self.score)
  }

  /// Intersection over union of two boxes, 0 to 1.
  public func overlap(with other: FaceCandidate) -> Float {
    let low = pointwiseMax(self.center - self.size / 2, other.center - other.size / 2)
    let high = pointwiseMin(self.center + self.size / 2, other.center + other.size / 2)
    let shared = max(0, high.x - low.x) * max(0, high.y - low.y)
    let all = self.size.x * self.size.y + other.size.x * other.size.y - shared
    return all > 0 ? shared / all : 0
  }

  /// Non-maximum suppression: removes each candidate that overlaps one with a higher score by more than `limit`.
  /// Candidates may come from overlapping areas.
  ///
  /// - Returns: The remaining candidates, highest score first.
  public static func suppress(_ candidates: [FaceCandidate], limit: Float = 0.3) -> [FaceCandidate] {
    var kept = candidates
    Self.suppress(in: &kept, limit: limit)
    return kept
  }

  /// Performs the suppression in place.
  static func suppress(in candidates: inout [FaceCandidate], limit: Float = 0.3) {
    var (kept, count) = (0, candidates.count)
    while kept < count {
      var best = kept
      for index in kept..<count where candidates[index].score > candidates[best].score { best = index }
      let likeliest = candidates.remove(at: best)
      candidates.insert(likeliest, at: kept)
      kept += 1
      // Removes overlapping candidates and compacts the others.
      var place = kept
      for index in kept..<count where !(candidates[index].overlap(with: likeliest) > limit) {
        candidates[place] = candidates[index]
        place += 1
      }
      count = place
    }
    candidates.removeLast(candidates.count - count)
  }
}

extension FaceCandidate {
  /// Angle of a direction, 0 to the right, positive downwards.
  static func angle(_ direction: SIMD2<Float>) -> Float {
    atan2f(direction.y, direction.x)
  }
}

extension FaceCandidate {
  /// Maps a candidate in a rotated square back to the unrotated square; units are 0 to 1.
  func turnedBack(_ orientation: Orientation) -> FaceCandidate {
    func back(_ point: SIMD2<Float>) -> SIMD2<Float> {
      switch orientation {
      case .up: point
      // A clockwise rotation maps (x, y) to (1 - y, x).
      case .right: SIMD2(point.y, 1 - point.x)
      case .down: 1 - point
      case .left: SIMD2(1 - point.y, point.x)
      }
    }
    var turned = self
    turned.center = back(self.center)
    turned.keyPoints = self.keyPoints.mapped(back)
    if orientation.swapsWidthAndHeight { turned.size = SIMD2(self.size.y, self.size.x) }
    return turned
  }
}
