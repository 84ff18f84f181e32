internal import Libc
internal import Media

/// Second look at a candidate with a low score: both detectors search a square around it, in which it has the size that they
/// see best. Pure: callers run the models.
///
/// The model for near faces is the one that decides. Of 601 faces without a candidate of 0.7, in profile, cut off by the frame's edge,
/// turned, dark, blurred or smaller than promised, each in the first frame of a stream, the weighted sum of the logits is 0.56 or more for
/// all but three, two behind a hand and one of the smallest, of which neither model sees much. Two in profile that recordings showed
/// before this look was made have 0.36 and 0.51. Letters of a title on clouds, and tools in a garage, rarely have 0.3.
///
/// Such letters have scores up to 0.69, and continue each other. A candidate at the place of a face is looked at again too, with a lower
/// sum, until the face was likely in four frames: one that is turned away or behind a hand was before.
///
/// Of the model for near faces, candidates with a score below 0.8 are looked at again as well: in clouds it sees faces that fill
/// half of the frame, of which the other model sees nothing. Of 240 composed close-ups, bright and dark, in all directions,
/// each had a score of 0.8 from the one model or of 0.6 from the other.
struct CandidateCheck {
  /// Score from which a candidate that is covered counts as likely, so that weaker ones at its place continue it.
  static let likelyScore: Float = 0.6
  /// Number of frames in which a face was likely from which what continues it needs no second look.
  static let knownSightings = 4
  /// Score from which a candidate of the full-range model needs no second look, and one of the model for near faces.
  private static let (sureScore, sureNearScore): (Float, Float) = (0.7, 0.8)
  /// Size of the smallest candidate that is looked at again though it continues no face, in sizes of the smallest promised face; smaller
  /// ones are covered where they are likely.
  static let minimumSize: Float = 0.65
  /// Maximum number of second looks per frame; further candidates are covered.
  static let limit = 32
  /// Sides of the squares in sizes of the candidate.
  private static let areas: [(model: FaceModel, factor: Float)] = [
    (.fullRangeDetector, 3.5), (.shortRangeDetector, 2.2),
  ]
  /// Limits of a score: fewer say no more.
  private static let scoreRange: ClosedRange<Float> = 0.02...0.98
  /// Weights of the first logit and of the full-range model's; that of the model for near faces has 1.
  private static let weights: (first: Float, far: Float) = (0.3, 0.2)
  /// Minimum of the weighted sum, and of that of what continues a face.
  private static let (minimumSum, minimumContinuedSum): (Float, Float) = (0.3, -1)
  /// Minimum of the sum for candidates of the model for near faces, which looks twice itself: the first logit has the weight 2.
  private static let minimumNearSum: Float = 1

  /// One run of a model.
  struct Look {
    let model: FaceModel
    /// Searched square, in pixels of the frame.
    let tile: FaceTile
  }

  /// Candidates of one face, as one run of a detector found them, in pixels of the frame; the likeliest first.
  let candidates: [FaceCandidate]
  /// Model that has found them.
  let model: FaceModel
  /// Rotation with which they were found.
  let orientation: Orientation
  /// Whether they are at the place of a face that was likely before.
  let isContinuation: Bool
  let looks: [Look]

  /// - Parameter candidates: Not empty.
  init(
    _ candidates: [FaceCandidate], of model: FaceModel = .fullRangeDetector, orientation: Orientation,
    isContinuation: Bool = false
  ) {
    (self.candidates, self.model, self.orientation) = (candidates, model, orientation)
    self.isContinuation = isContinuation
    let (center, size) = (candidates[0].center, candidates[0].size.max())
    self.looks = Self.areas.map { area in
      let side = max(8, Int(area.factor * size) & ~1)
      let low = center - Float(side / 2)
      return Look(model: area.model, tile: FaceTile(x: Int(low.x) & ~1, y: Int(low.y) & ~1, side: side))
    }
  }

  /// Whether the candidates may be a face.
  ///
  /// - Parameter found: Candidates of each of ``looks``, in their order, in pixels of the frame.
  func isFace(_ found: [[FaceCandidate]]) -> Bool {
    let first = self.candidates[0]
    let size = first.size.max()
    let logits = found.map { found in
      let same = found.filter { other in
        let (offset, ratio) = (other.center - first.center, other.size.max() / size)
        return abs(offset.x) < 0.5 * size && abs(offset.y) < 0.5 * size && ratio > 0.5 && ratio < 2
      }
      return Self.logit(same.map(\.score).max() ?? 0)
    }
    guard logits.count == self.looks.count else { return true }
    let (own, far, near) = (Self.logit(first.score), logits[0], logits[1])
    let sum = Self.weights.first * own + Self.weights.far * far + near
    if self.isContinuation, sum >= Self.minimumContinuedSum { return true }
    return self.model == .fullRangeDetector ? sum >= Self.minimumSum : 2 * own + far + near >= Self.minimumNearSum
  }

  /// Score from which a candidate that a model has found needs no second look.
  ///
  /// - Parameter isSmall: Whether it is too small for one.
  static func sureScore(of model: FaceModel, isSmall: Bool = false) -> Float {
    model == .shortRangeDetector ? Self.sureNearScore : isSmall ? Self.likelyScore : Self.sureScore
  }

  /// The check in a frame that is larger by a factor.
  func scaled(by scale: SIMD2<Float>) -> CandidateCheck {
    CandidateCheck(
      self.candidates.map { $0.moved(by: .zero, scaledBy: scale) }, of: self.model, orientation: self.orientation,
      isContinuation: self.isContinuation)
  }

  private static func logit(_ score: Float) -> Float {
    let bounded = max(Self.scoreRange.lowerBound, min(Self.scoreRange.upperBound, score))
    return logf(bounded / (1 - bounded))
  }
}

extension CandidateCheck {
  /// Groups candidates of one run of a detector by the face that they may be of.
  static func groups(_ candidates: [FaceCandidate]) -> [[FaceCandidate]] {
    var groups: [[FaceCandidate]] = []
    for candidate in candidates.sorted(by: { $0.score > $1.score }) {
      if let index = groups.firstIndex(where: { $0[0].overlap(with: candidate) > 0.3 }) {
        groups[index].append(candidate)
      } else {
        groups.append([candidate])
      }
    }
    return groups
  }
}
