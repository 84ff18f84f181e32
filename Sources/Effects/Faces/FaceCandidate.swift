internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A possible face found by a detector: a box, six key points and a score. Places and sizes are in units of the
/// area that it looked at, or of whatever ``moved(by:scaledBy:)`` has made of them.
public struct FaceCandidate: Hashable, Sendable {
  /// The box's centre.
  public var center: SIMD2<Float>
  /// The box's width and height.
  public var size: SIMD2<Float>
  /// Eyes, nose, mouth, ears.
  public var keyPoints: Face.KeyPoints
  /// How likely it is a face, 0 to 1.
  public var score: Float

  /// A candidate.
  public init(center: SIMD2<Float>, size: SIMD2<Float>, keyPoints: Face.KeyPoints, score: Float) {
    self.center = center
    self.size = size
    self.keyPoints = keyPoints
    self.score = score
  }

  /// How far the face is turned to the right in the frame's plane, in radians: the angle of the line of the eyes.
  public var roll: Float {
    Self.angle(self.keyPoints.leftEye - self.keyPoints.rightEye)
  }

  /// The same candidate in other units: first scaled, then moved.
  public func moved(by offset: SIMD2<Float>, scaledBy scale: SIMD2<Float>) -> FaceCandidate {
    FaceCandidate(
      center: self.center * scale + offset, size: self.size * scale,
      keyPoints: self.keyPoints.mapped { $0 * scale + offset }, score: self.score)
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
    var kept = candidates
    Self.suppress(in: &kept, limit: limit)
    return kept
  }

  /// The same in place.
  static func suppress(in candidates: inout [FaceCandidate], limit: Float = 0.3) {
    var (kept, count) = (0, candidates.count)
    while kept < count {
      var best = kept
      for index in kept..<count where candidates[index].score > candidates[best].score { best = index }
      let likeliest = candidates.remove(at: best)
      candidates.insert(likeliest, at: kept)
      kept += 1
      // What overlaps it goes, the others move up.
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
  /// The angle of a direction, 0 to the right, positive downwards.
  static func angle(_ direction: SIMD2<Float>) -> Float {
    atan2f(direction.y, direction.x)
  }
}

extension FaceCandidate {
  /// Where a candidate of a square that was turned lies in the square as it was; in units of it, 0 to 1.
  func turnedBack(_ orientation: Orientation) -> FaceCandidate {
    func back(_ point: SIMD2<Float>) -> SIMD2<Float> {
      switch orientation {
      case .up: point
      // Clockwise, (x, y) has become (1 - y, x).
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
