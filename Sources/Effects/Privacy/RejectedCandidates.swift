internal import Media

/// Candidates that a second look has rejected. While no pixel changes around them they are not looked at again, for a second
/// at most. Pure.
struct RejectedCandidates {
  private struct Entry {
    var candidate: FaceCandidate
    var model: FaceModel
    var orientation: Orientation
    var isContinuation: Bool
    /// Number and time of the frame of the second look.
    var number: Int
    var time: MediaTime
  }

  /// Time for which a rejection holds.
  static let maximumAge = MediaDuration.seconds(1)
  /// Maximum number of rejections that are kept; the oldest go first.
  private static let limit = 64
  /// Differences between two searches of the same pixels, relative to the candidate's size, and in its score.
  private static let tolerance: Float = 0.1
  private static let scoreTolerance: Float = 0.03

  private var entries: [Entry] = []

  /// Adds a check whose candidates are no face in the frame of a number.
  mutating func add(_ check: CandidateCheck, number: Int, at time: MediaTime) {
    self.entries.removeAll { time - $0.time >= Self.maximumAge || time < $0.time }
    if self.entries.count >= Self.limit { self.entries.removeFirst() }
    self.entries.append(
      Entry(
        candidate: check.candidates[0], model: check.model, orientation: check.orientation,
        isContinuation: check.isContinuation, number: number, time: time))
  }

  /// Whether a check's candidates were rejected, and the second look would see the same pixels.
  ///
  /// - Parameter hasChanged: Whether a square has changed since the frame of a number.
  func contains(
    _ check: CandidateCheck, at time: MediaTime, hasChanged: (_ square: FaceTile, _ since: Int) -> Bool
  ) -> Bool {
    let candidate = check.candidates[0]
    let size = candidate.size.max()
    return self.entries.contains { entry in
      let offset = entry.candidate.center - candidate.center
      return entry.model == check.model && entry.orientation == check.orientation
        && entry.isContinuation == check.isContinuation
        && time >= entry.time && time - entry.time < Self.maximumAge
        && candidate.score <= entry.candidate.score + Self.scoreTolerance
        && max(abs(offset.x), abs(offset.y)) < Self.tolerance * size
        && abs(entry.candidate.size.max() - size) < Self.tolerance * size
        && !check.looks.contains { hasChanged($0.tile, entry.number) }
    }
  }
}
