internal import Media

/// Decides which runs of models are due in each frame, and which frames may be shown. Pure: callers run the models.
///
/// A cell is pending for a frame whose pixels there have changed since the cell was last searched. It may also be searched in
/// one of the next two frames: faces that are found cover all frames of the round. A frame is released when it has no pending
/// cells, or when its round is over; then its pending cells are covered.
struct PrivacySchedule {
  /// Frames of a round.
  static let round = 3
  /// Time after which unchanged tiles are searched again.
  static let maximumAge = MediaDuration.seconds(1)

  /// Maximum number of runs per frame that search unchanged cells before they are due.
  private static let maximumEarly = 12

  /// A frame that waits for its release.
  struct Held {
    let number: Int
    let time: MediaTime
    /// Whether each cell is still to be searched for the frame.
    fileprivate(set) var pendingCells: [Bool]
    fileprivate(set) var pendingCount: Int
  }

  /// The runs for the newest frame.
  struct Batch: Equatable {
    /// Indices of runs, the most urgent first.
    var runs: [Int] = []
    /// The number of those that are not to be left out before the frame's deadline.
    var requiredCount = 0
  }

  /// Whether each cell is searched in each frame.
  private let isImmediate: [Bool]
  /// The cells that each possible run searches, and the runs that search each cell.
  private let cells: [[Int]]
  private let runs: [[Int]]
  /// Each cell's share of a run.
  private let shares: [Double]
  private(set) var held: [Held] = []
  /// Number and time of the frame in which each cell was last searched.
  private(set) var searched: [(number: Int, time: MediaTime)?]
  private var lastTime: MediaTime?
  /// Number of runs that may search unchanged cells.
  private var early = 0.0

  /// - Parameters:
  ///   - isImmediate: Whether each cell is searched in each frame.
  ///   - runs: The cells that each possible run searches.
  init(isImmediate: [Bool], runs: [[Int]]) {
    self.isImmediate = isImmediate
    self.cells = runs
    var inverse = Array(repeating: [Int](), count: isImmediate.count)
    for (run, cells) in runs.enumerated() {
      for cell in cells { inverse[cell].append(run) }
    }
    self.runs = inverse
    self.shares = inverse.map { 1 / Double($0.map { runs[$0].count }.max() ?? 1) }
    self.searched = Array(repeating: nil, count: isImmediate.count)
  }

  /// Adds the next frame.
  ///
  /// - Parameters:
  ///   - completes: Whether the frame is to be released at once.
  ///   - hasChanged: Whether the pixels of a cell have changed since the frame of a number.
  /// - Returns: What to run in it.
  mutating func add(
    number: Int, time: MediaTime, completes: Bool, hasChanged: (_ cell: Int, _ since: Int) -> Bool
  ) -> Batch {
    var pendingCells = Array(repeating: false, count: self.searched.count)
    var count = 0
    for cell in pendingCells.indices {
      guard let last = self.searched[cell], time >= last.time, time - last.time < Self.maximumAge,
        !hasChanged(cell, last.number)
      else {
        pendingCells[cell] = true
        count += 1
        continue
      }
    }
    self.held.append(Held(number: number, time: time, pendingCells: pendingCells, pendingCount: count))
    let interval = self.lastTime.map { max(.zero, time - $0) } ?? .zero
    self.lastTime = time
    return self.batch(completes: completes, interval: interval)
  }

  private mutating func batch(completes: Bool, interval: MediaDuration) -> Batch {
    guard let newest = self.held.last else { return Batch() }
    var isSearched = Array(repeating: false, count: self.searched.count)
    var batch = Batch()
    // The immediate cells of earlier frames were theirs only.
    batch.runs = self.runs(for: { newest.pendingCells[$0] && self.isImmediate[$0] }, isSearched: &isSearched)
    let immediate = batch.runs.count
    // Frames from the oldest: how many runs are due by now if the work of a round is spread evenly.
    var quota = 0
    for frame in self.held where frame.pendingCount > 0 {
      let framesLeft = max(1, Self.round - (newest.number - frame.number))
      let runs = self.runs(for: { frame.pendingCells[$0] && !self.isImmediate[$0] }, isSearched: &isSearched)
      batch.runs += runs.map { ($0, self.age($0)) }.sorted { $0.1 < $1.1 }.map(\.0)
      let sum = batch.runs.count - immediate
      quota = max(quota, completes ? sum : (sum + framesLeft - 1) / framesLeft)
    }
    batch.runs.removeLast(batch.runs.count - immediate - quota)
    batch.requiredCount = batch.runs.count
    self.addEarly(to: &batch, interval: interval)
    return batch
  }

  /// Chooses runs that search all wanted cells, few of them.
  ///
  /// - Parameter isSearched: Whether each cell is searched by runs that were chosen before, or now.
  private func runs(for isWanted: (Int) -> Bool, isSearched: inout [Bool]) -> [Int] {
    var chosen: [Int] = []
    for cell in self.searched.indices where !isSearched[cell] && isWanted(cell) {
      var (best, bestCount) = (-1, 0)
      for run in self.runs[cell] {
        var count = 0
        for other in self.cells[run] where !isSearched[other] && isWanted(other) { count += 1 }
        if count > bestCount { (best, bestCount) = (run, count) }
      }
      guard best >= 0 else { continue }
      chosen.append(best)
      for other in self.cells[best] { isSearched[other] = true }
    }
    return chosen
  }

  /// Adds runs that search unchanged cells, the oldest first, so that they are not due all at once.
  private mutating func addEarly(to batch: inout Batch, interval: MediaDuration) {
    guard let newest = self.held.last else { return }
    // Time since the last search; nil for what is searched anyway.
    var ages = self.searched.enumerated().map { cell, last in
      newest.pendingCells[cell] ? nil : last.map { newest.time - $0.time }
    }
    for run in batch.runs {
      for cell in self.cells[run] { ages[cell] = nil }
    }
    self.early = min(Double(Self.maximumEarly), self.early + self.earlyRate(ages) * interval.seconds)
    while self.early >= 1 {
      self.early -= 1
      guard let oldest = ages.indices.max(by: { ages[$0] ?? .zero < ages[$1] ?? .zero }), let age = ages[oldest] else {
        return
      }
      func weight(_ run: Int) -> Int64 { self.cells[run].reduce(0) { $0 + (ages[$1]?.nanoseconds ?? 0) } }
      guard age > .zero, let run = self.runs[oldest].max(by: { weight($0) < weight($1) }) else { return }
      batch.runs.append(run)
      for cell in self.cells[run] { ages[cell] = nil }
    }
  }

  /// Number of runs per second with which all cells are searched before their maximum age.
  private func earlyRate(_ ages: [MediaDuration?]) -> Double {
    // Runs by the time that is left for them.
    let count = 32
    let step = Self.maximumAge.seconds / Double(count)
    var due = Array(repeating: 0.0, count: count)
    for case (let cell, let age?) in zip(ages.indices, ages) {
      let left = max(.zero, Self.maximumAge - age).seconds
      due[min(count - 1, Int(left / step))] += self.shares[cell]
    }
    var (sum, rate) = (0.0, 0.0)
    for (index, runs) in due.enumerated() {
      sum += runs
      rate = max(rate, sum / ((Double(index) + 0.5) * step))
    }
    // The cells of a run are not all of one age.
    return 1.1 * rate
  }

  /// Time in nanoseconds of the oldest search among the cells of a run; the minimum where a cell was never searched.
  private func age(_ run: Int) -> Int64 {
    self.cells[run].map { self.searched[$0]?.time.nanoseconds ?? .min }.min() ?? .min
  }

  /// Records that runs were done in the newest frame, so that held frames wait for their cells no longer.
  mutating func finish(_ runs: some Sequence<Int>) {
    guard let newest = self.held.last else { return }
    for run in runs {
      for cell in self.cells[run] {
        self.searched[cell] = (newest.number, newest.time)
        for index in self.held.indices where self.held[index].pendingCells[cell] {
          // An immediate cell has its own search in each frame.
          guard !self.isImmediate[cell] || self.held[index].number == newest.number else { continue }
          self.held[index].pendingCells[cell] = false
          self.held[index].pendingCount -= 1
        }
      }
    }
  }

  /// Removes the next frame that may be shown, with the cells that are to be covered; nil while the oldest frame
  /// waits.
  ///
  /// - Parameter completes: Whether all frames are to be released.
  mutating func release(completes: Bool) -> (number: Int, uncertain: [Int])? {
    guard let first = self.held.first, let newest = self.held.last else { return nil }
    let isOver = completes || newest.number - first.number >= Self.round - 1
    guard first.pendingCount == 0 || isOver else { return nil }
    self.held.removeFirst()
    return (first.number, first.pendingCells.indices.filter { first.pendingCells[$0] })
  }

  /// Removes all frames and forgets all searches.
  mutating func reset() {
    self.held = []
    self.searched = Array(repeating: nil, count: self.isImmediate.count)
    self.lastTime = nil
  }
}
