internal import Media

/// Rectangles that cover candidates for faces. Every candidate is covered in the frames of its round and for a while after
/// it, also when later searches do not find it. Pure.
struct PrivacyCovers {
  /// A rectangle in pixels of the scaled frame.
  struct Box: Hashable {
    var low: SIMD2<Float>
    var high: SIMD2<Float>

    var side: Float { (self.high - self.low).max() }
    var center: SIMD2<Float> { (self.low + self.high) / 2 }

    func union(_ other: Box) -> Box {
      Box(low: pointwiseMin(self.low, other.low), high: pointwiseMax(self.high, other.high))
    }

    /// Intersection over union, 0 to 1.
    func overlap(with other: Box) -> Float {
      let size = pointwiseMax(pointwiseMin(self.high, other.high) - pointwiseMax(self.low, other.low), SIMD2(0, 0))
      func area(_ box: Box) -> Float { (box.high.x - box.low.x) * (box.high.y - box.low.y) }
      let all = area(self) + area(other) - size.x * size.y
      return all > 0 ? size.x * size.y / all : 0
    }

    func contains(_ other: Box) -> Bool {
      self.low.x <= other.low.x && self.low.y <= other.low.y && self.high.x >= other.high.x
        && self.high.y >= other.high.y
    }
  }

  private struct Cover {
    /// Box from ``seen`` on.
    var box: Box
    /// Box before that: where the face may have come from.
    var pathBox: Box
    var begin: MediaTime
    /// Time at which the face was found.
    var seen: MediaTime
    var end: MediaTime
    /// Side of the box when it was likely a face, now or before, and in how many frames it was; nil where it never was.
    var likely: Likely?
  }

  private struct Likely {
    var side: Float
    var sightings: Int
    /// Time of the last frame.
    var time: MediaTime
  }

  /// Maximum number of covers; the whole frame is covered beyond.
  static let limit = 1000
  /// Number of faces below the smallest size from which others may have been missed.
  static let smallFaceLimit = 3
  /// Part of the smallest promised size below which a face counts as small.
  private static let smallPart: Float = 0.8
  /// Lifetime of a cover: longer than the time for which an unchanged tile is not searched.
  private static let hold = MediaDuration.milliseconds(1500)
  private static let doubtfulHold = MediaDuration.milliseconds(1250)

  /// Size of the smallest face that is promised to be found.
  private let minimumFace: Float
  private var covers: [Cover] = []
  private var wholeEnd: MediaTime?

  init(minimumFace: Float) { self.minimumFace = minimumFace }

  /// Covers the candidates of a frame.
  ///
  /// - Parameters:
  ///   - time: Time of the frame in which they were found.
  ///   - start: Time of the oldest frame that they belong to: that of the round.
  mutating func add(_ candidates: [FaceCandidate], at time: MediaTime, from start: MediaTime) {
    self.covers.removeAll { $0.end < start }
    var small: [Box] = []
    for candidate in candidates {
      let box = Box(covering: candidate)
      guard box.low.x.isFinite, box.low.y.isFinite, box.high.x.isFinite, box.high.y.isFinite else {
        self.wholeEnd = time + Self.hold
        continue
      }
      if candidate.score >= CandidateCheck.likelyScore, candidate.size.max() < Self.smallPart * self.minimumFace,
        !small.contains(where: { $0.overlap(with: box) > 0.2 })
      {
        small.append(box)
      }
      let isLikely = candidate.score >= CandidateCheck.likelyScore
      var likely = self.likely(continuedBy: box, at: time)
      if isLikely {
        // A detector finds a face at several places of a frame.
        let earlier = likely.map { $0.time < time ? $0.sightings : $0.sightings - 1 } ?? 0
        likely = Likely(side: box.side, sightings: earlier + 1, time: time)
      }
      self.cover(box, likely, until: time + (likely == nil ? Self.doubtfulHold : Self.hold), at: time, from: start)
    }
    if small.count > Self.smallFaceLimit || self.covers.count > Self.limit { self.wholeEnd = time + Self.hold }
  }

  private mutating func cover(
    _ box: Box, _ likely: Likely?, until end: MediaTime, at time: MediaTime, from start: MediaTime
  ) {
    // The same face, found by another search of the same frame: both boxes are covered.
    if let same = self.covers.firstIndex(where: {
      $0.seen == time && ($0.box.contains(box) || $0.box.overlap(with: box) > 0.5)
    }) {
      self.covers[same].box = self.covers[same].box.union(box)
      self.covers[same].pathBox = self.covers[same].pathBox.union(box)
      self.covers[same].end = max(self.covers[same].end, end)
      if let likely, likely.sightings > self.covers[same].likely?.sightings ?? 0 { self.covers[same].likely = likely }
      return
    }
    var new = Cover(box: box, pathBox: box.grown(by: 0.3), begin: start, seen: time, end: end, likely: likely)
    // Covers of the face's previous places; between them and the new box it is on the way.
    let before = self.covers.indices.filter {
      self.covers[$0].seen < time && self.covers[$0].end > time && self.covers[$0].box.isContinued(by: box)
    }
    for index in before {
      new.pathBox = new.pathBox.union(self.covers[index].box)
      new.begin = min(new.begin, self.covers[index].seen)
      self.covers[index].end = time
    }
    self.covers.append(new)
  }

  /// Number of frames in which a face was likely, at whose covered place a candidate is: of its size or up to twice as large or small, of
  /// its present one, and of that with which it was likely, so that a chain of unlikely ones does not grow. 0 where there is none.
  func sightings(ofFaceContinuedBy candidate: FaceCandidate, at time: MediaTime) -> Int {
    self.likely(continuedBy: Box(covering: candidate), at: time)?.sightings ?? 0
  }

  /// Likelihood of the face that a box continues, of several the one that was likely most often; nil where it continues none.
  private func likely(continuedBy box: Box, at time: MediaTime) -> Likely? {
    let continued = self.covers.lazy.compactMap { cover -> Likely? in
      guard let likely = cover.likely, cover.begin <= time, time <= cover.end else { return nil }
      let isContinued =
        cover.box.low.x <= box.center.x && cover.box.low.y <= box.center.y && box.center.x <= cover.box.high.x
        && box.center.y <= cover.box.high.y
        && [cover.box.side, likely.side].allSatisfy { $0 < 2 * box.side && box.side < 2 * $0 }
      return isContinued ? likely : nil
    }
    return continued.max { $0.sightings < $1.sightings }
  }

  /// The boxes to cover in a frame; nil for the whole frame.
  func boxes(at time: MediaTime) -> [Box]? {
    if let wholeEnd, time <= wholeEnd { return nil }
    return self.covers.compactMap { cover in
      guard cover.begin <= time, time <= cover.end else { return nil }
      return time >= cover.seen ? cover.box : cover.pathBox
    }
  }

  /// Forgets all candidates.
  mutating func reset() { (self.covers, self.wholeEnd) = ([], nil) }
}

extension PrivacyCovers.Box {
  /// Half the side of a cover in sizes of the detector's box, which ends above the eyebrows and at the chin.
  private static let reach: Float = 0.875

  /// The cover of a candidate.
  init(covering candidate: FaceCandidate) {
    let points = candidate.keyPoints
    let up = (points.rightEye + points.leftEye) / 2 - points.mouth
    let length = (up * up).sum().squareRoot()
    let size = candidate.size.max()
    // Towards the hair.
    let shift = length > 0 && length.isFinite ? up / length * (0.1 * size) : SIMD2(0, 0)
    let (center, half) = (candidate.center + shift, SIMD2(repeating: Self.reach * size))
    (self.low, self.high) = (center - half, center + half)
  }

  /// Whether another box may be of the same face, a few frames later.
  fileprivate func isContinued(by other: PrivacyCovers.Box) -> Bool {
    let offset = other.center - self.center
    let (smaller, larger) = (min(self.side, other.side), max(self.side, other.side))
    return larger < 1.5 * smaller && (offset * offset).sum().squareRoot() < 0.25 * smaller
  }

  fileprivate func grown(by part: Float) -> PrivacyCovers.Box {
    let margin = SIMD2(repeating: part / 2 * self.side)
    return PrivacyCovers.Box(low: self.low - margin, high: self.high + margin)
  }
}
