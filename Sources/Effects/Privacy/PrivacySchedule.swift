internal import Media

/// Decides which parts of a search run in each frame, and which frames may be shown. Pure: callers run the models.
///
/// A part that is owed by a frame because the pixels there have changed since it was last searched may also run in one of
/// the next two frames: what it finds covers all frames of the round. A frame is released when it owes nothing, or when its
/// round is over; then the tiles that it still owes are covered.
struct PrivacySchedule {
  /// Frames of a round.
  static let round = 3
  /// Time after which unchanged tiles are searched again.
  static let maximumAge = MediaDuration.seconds(1)

  /// A frame that waits for its release.
  struct Held {
    let number: Int
    let time: MediaTime
    /// Whether each probe is still to run for it.
    fileprivate(set) var owed: [Bool]
    fileprivate(set) var owedCount: Int
  }

  /// The parts to run in the newest frame.
  struct Batch: Equatable {
    /// Indices of probes, the most urgent first.
    var probes: [Int] = []
    /// The number of those that are not to be left out before the frame's deadline.
    var requiredCount = 0
  }

  /// Whether each probe runs for each frame.
  private let isImmediate: [Bool]
  private(set) var held: [Held] = []
  /// Number and time of the frame in which each probe last ran.
  private(set) var searched: [(number: Int, time: MediaTime)?]
  private var lastTime: MediaTime?

  init(isImmediate: [Bool]) {
    self.isImmediate = isImmediate
    self.searched = Array(repeating: nil, count: isImmediate.count)
  }

  /// Adds the next frame.
  ///
  /// - Parameters:
  ///   - completes: Whether the frame is to be released at once.
  ///   - hasChanged: Whether the pixels that a probe searches have changed since the frame of a number.
  /// - Returns: What to run in it.
  mutating func add(
    number: Int, time: MediaTime, completes: Bool, hasChanged: (_ probe: Int, _ since: Int) -> Bool
  ) -> Batch {
    var owed = Array(repeating: false, count: self.searched.count)
    var count = 0
    for probe in owed.indices {
      guard let last = self.searched[probe], time >= last.time, time - last.time < Self.maximumAge,
        !hasChanged(probe, last.number)
      else {
        owed[probe] = true
        count += 1
        continue
      }
    }
    self.held.append(Held(number: number, time: time, owed: owed, owedCount: count))
    let interval = self.lastTime.map { max(.zero, time - $0) } ?? .zero
    self.lastTime = time
    return self.batch(completes: completes, interval: interval)
  }

  private func batch(completes: Bool, interval: MediaDuration) -> Batch {
    guard let newest = self.held.last else { return Batch() }
    var batch = Batch()
    var isListed = Array(repeating: false, count: self.searched.count)
    func list(_ probes: some Sequence<Int>) -> Int {
      let before = batch.probes.count
      for probe in probes where !isListed[probe] {
        isListed[probe] = true
        batch.probes.append(probe)
      }
      return batch.probes.count - before
    }
    let immediate = list(newest.owed.indices.filter { newest.owed[$0] && self.isImmediate[$0] })
    // Frames from the oldest: how many are to run by now if the work of a round is spread evenly.
    var (sum, quota) = (0, 0)
    for frame in self.held {
      let framesLeft = max(1, Self.round - (newest.number - frame.number))
      sum += list(frame.owed.indices.filter { frame.owed[$0] }.sorted { self.age($0) < self.age($1) })
      quota = max(quota, completes ? sum : (sum + framesLeft - 1) / framesLeft)
    }
    batch.probes.removeLast(batch.probes.count - immediate - quota)
    batch.requiredCount = batch.probes.count
    // Spreads the search of unchanged tiles, so that they are not due all at once.
    let refreshed = Double(self.searched.count) * 1.25 * interval.seconds / Self.maximumAge.seconds
    isListed = Array(repeating: false, count: self.searched.count)
    for probe in batch.probes { isListed[probe] = true }
    let old = self.searched.indices.filter { probe in
      !isListed[probe] && !newest.owed[probe]
        && (self.searched[probe].map { newest.time - $0.time >= Self.maximumAge / 3 } ?? false)
    }
    batch.probes += old.sorted { self.age($0) < self.age($1) }.prefix(Int(min(12, refreshed.rounded(.up))))
    return batch
  }

  private func age(_ probe: Int) -> Int64 { self.searched[probe]?.time.nanoseconds ?? .min }

  /// Notes that probes have run in the newest frame.
  mutating func finish(_ probes: some Sequence<Int>) {
    guard let newest = self.held.last else { return }
    for probe in probes {
      self.searched[probe] = (newest.number, newest.time)
      for index in self.held.indices where self.held[index].owed[probe] {
        // A probe of each frame covers no earlier ones: those had their own.
        guard !self.isImmediate[probe] || self.held[index].number == newest.number else { continue }
        self.held[index].owed[probe] = false
        self.held[index].owedCount -= 1
      }
    }
  }

  /// Removes the next frame that may be shown, with the probes whose tiles are to be covered; nil while the oldest frame
  /// waits.
  ///
  /// - Parameter completes: Whether all frames are to be released.
  mutating func release(completes: Bool) -> (number: Int, uncertain: [Int])? {
    guard let first = self.held.first, let newest = self.held.last else { return nil }
    let isOver = completes || newest.number - first.number >= Self.round - 1
    guard first.owedCount == 0 || isOver else { return nil }
    self.held.removeFirst()
    return (first.number, first.owed.indices.filter { first.owed[$0] })
  }

  /// Removes all frames and forgets all searches.
  mutating func reset() {
    self.held = []
    self.searched = Array(repeating: nil, count: self.isImmediate.count)
    self.lastTime = nil
  }
}
