internal import Media

/// The samples with which a source begins: what has come while its streams were found out, or what a server sends at once. Pure.
///
/// They wait for each other, so that those before a sample that comes early can still be moved: all keep their distances, and the
/// newest one has its time of arrival.
struct StartBurst {
  /// Time without a sample after which those that have come are shown.
  static let pause = MediaDuration.milliseconds(30)
  /// Maximum time for which the first one waits.
  static let maximumWait = MediaDuration.milliseconds(150)
  /// Maximum time by which the first one is moved: as much as a server may send early.
  static let maximumMove = MediaDuration.seconds(5)

  /// Time up to which samples wait; nil before the first one.
  private(set) var end: MediaTime?
  /// Arrival of the first one.
  private var first: MediaTime?
  /// Time by which samples have been moved, and the part of it that the owner has not taken.
  private var moved = (whole: MediaDuration.zero, new: MediaDuration.zero)

  /// Records the arrival of a sample.
  ///
  /// - Returns: False where it follows those of the start.
  mutating func handleArrival(at now: MediaTime) -> Bool {
    if let end, now >= end { return false }
    let first = self.first ?? now
    self.first = first
    self.end = min(now + Self.pause, first + Self.maximumWait)
    return true
  }

  /// Moves the samples that wait.
  ///
  /// - Returns: False where they would be too old.
  mutating func move(by time: MediaDuration) -> Bool {
    guard self.moved.whole + time <= Self.maximumMove else { return false }
    self.moved = (self.moved.whole + time, self.moved.new + time)
    return true
  }

  /// Removes and returns the time by which samples have been moved since the last call.
  mutating func takeMove() -> MediaDuration {
    defer { self.moved.new = .zero }
    return self.moved.new
  }
}
