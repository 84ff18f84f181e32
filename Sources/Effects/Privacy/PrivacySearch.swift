internal import CYUV
internal import Libc
internal import Media
internal import Threading

/// Treatment of candidates with low scores that continue no face.
package enum WeakCandidates: Hashable, Sendable {
  /// Both models look again, and what they see decides.
  case lookedAtAgain
  /// Covered from a score on, and dropped below; for measurements, which compare it with the second look.
  case covered(from: Float)
}

/// Searches frames completely, each round in all directions, and holds them back until their round is over.
struct PrivacySearch {
  /// Creates the detectors of a thread.
  typealias MakeDetect = @Sendable () -> DetectionThreads.Detect

  /// A frame whose round is over. Only the search makes it: the evidence on which ``CoveredFrame`` rests.
  struct Result {
    let frame: EffectFrame
    /// Boxes to cover, in pixels of the frame; nil where the whole frame is to be covered.
    let boxes: [PrivacyCovers.Box]?

    fileprivate init(frame: EffectFrame, boxes: [PrivacyCovers.Box]?) { (self.frame, self.boxes) = (frame, boxes) }
  }

  /// Counters of the supervision.
  struct Supervision: Hashable {
    /// Number of times that a thread was given up because it missed its deadline.
    var stalls = 0
    /// Number of times that the detector has failed.
    var failures = 0
    /// Whether the last batch was answered.
    var isAlive = true
    /// Whether no threads are started, since as many as are allowed hang.
    var isGivenUp = false
  }

  /// Number of runs of models.
  struct ModelRuns: Hashable {
    /// Parts of the search.
    var searches = 0
    /// Second looks.
    var looks = 0
  }

  /// Times that a frame waits for its search, and the threads that run it.
  struct Limits {
    /// Times that no search exceeds, for tests and measurements.
    static let unlimited = Limits(frame: .seconds(600), complete: .seconds(600), runTimeout: .seconds(600))

    /// For a frame among others: the frame rate falls to 10 per second before tiles are covered.
    var frame = MediaDuration.milliseconds(100)
    /// For a frame that is to be released at once, such as the first one.
    var complete = MediaDuration.seconds(2)
    /// For the run of a model that has begun before.
    var runTimeout = MediaDuration.milliseconds(400)
    /// Treatment of candidates that are not likely.
    var weakCandidates = WeakCandidates.lookedAtAgain
    /// Number of threads: more than there are processors would only wait for each other.
    var threadCount = max(1, min(4, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  }

  /// Interval of frames from which each is released at once.
  private static let slowInterval = MediaDuration.milliseconds(90)
  /// Time without a search before a frame by which the source, not the search, is what is slow.
  private static let idleTime = MediaDuration.milliseconds(60)
  /// Maximum number of sets of threads that hang in a model; further ones would use up the system's threads.
  private static let maximumHungCount = 2
  /// Minimum time between two starts of a thread, after the first restart.
  private static let restartInterval = MediaDuration.seconds(1)

  let minimumFace: Float
  private let limits: Limits
  private let makeDetect: MakeDetect
  private(set) var supervision = Supervision()
  private(set) var modelRuns = ModelRuns()
  private var threads: DetectionThreads?
  private let cancellation: SearchCancellation
  /// Threads that were given up, and have not returned from their model.
  private var hung: [DetectionThreads] = []
  /// Hung detections of all searches.
  private let allHung: HungDetections
  private var lastStart: MediaTime?

  /// Reason why the promise does not hold in frames of this size; nil where it does.
  private(set) var limit: String?
  private var size = SIMD2(0, 0)
  private var layout = PrivacyLayout(width: 16, height: 16)
  private var schedule = PrivacySchedule(isImmediate: [], runs: [])
  private var covers = PrivacyCovers(minimumFace: 0)
  private var changes = FrameChanges(width: 1, height: 1)
  private var rejected = RejectedCandidates()
  private var held: [EffectFrame] = []
  private var lastTime: MediaTime?
  /// Duration of the last search.
  private var lastDuration = MediaDuration.zero

  // Memory that is reused from frame to frame.
  private var scaled = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var samples = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var inputs = DetectorInputs()
  /// Number of the frame in which each block has changed; 0 for covered ones.
  private var visibleChanges: [Int] = []

  /// - Parameters:
  ///   - minimumFace: Smallest face relative to the frame's shorter side.
  ///   - hung: The threads of all searches that hang.
  ///   - cancellation: Ends the wait for a search at once, on any thread; what was not searched is covered.
  init(
    minimumFace: Float, limits: Limits = Limits(), hung: HungDetections,
    cancellation: SearchCancellation = SearchCancellation(), makeDetect: @escaping MakeDetect
  ) {
    (self.minimumFace, self.limits, self.allHung, self.makeDetect) = (minimumFace, limits, hung, makeDetect)
    self.cancellation = cancellation
  }

  /// Ends the threads.
  func stop() { self.threads?.stop() }

  /// Drops the frames that are held back, and forgets all that is known: frames are unrelated to the previous ones.
  mutating func reset() {
    self.size = SIMD2(0, 0)
    self.held = []
    self.lastStart = nil
    self.cancellation.reset()
  }

  /// Searches a frame.
  ///
  /// - Parameters:
  ///   - completes: Whether to search all of it now, so that it is not held back.
  /// - Returns: The frames whose round is over, oldest first.
  mutating func add(_ frame: EffectFrame, completes: Bool) -> [Result] {
    let time = frame.timestamp
    let isFirst = self.adapt(to: frame)
    let begin = ContinuousClock.now
    defer { self.lastDuration = MediaDuration(nanoseconds: Int64((ContinuousClock.now - begin) / .nanoseconds(1))) }
    let interval = self.lastTime.map { time - $0 }
    let isSlow = interval.map { $0 >= Self.slowInterval && $0 - self.lastDuration >= Self.idleTime } ?? true
    self.lastTime = time
    self.held.append(frame)
    self.scale(frame)
    self.noteVisibleChanges(at: time)
    let (layout, visible, columns) = (self.layout, self.visibleChanges, self.changes.columns)
    let completes = completes || isFirst || isSlow
    let batch = self.schedule.add(number: self.changes.number, time: time, completes: completes) { cell, since in
      Self.hasChanged(layout.cells[cell], since: since, visible, columns: columns)
    }
    self.run(batch, frame, completes: completes)

    var results: [Result] = []
    while let (_, uncertain) = self.schedule.release(completes: completes) {
      let frame = self.held.removeFirst()
      var boxes = self.covers.boxes(at: frame.timestamp)
      for cell in uncertain {
        let area = layout.cells[cell].cover
        boxes?.append(
          PrivacyCovers.Box(
            low: SIMD2(Float(area.x.lowerBound), Float(area.y.lowerBound)),
            high: SIMD2(Float(area.x.upperBound), Float(area.y.upperBound))))
      }
      results.append(
        Result(
          frame: frame,
          boxes: boxes?.map { PrivacyCovers.Box(low: $0.low * layout.scale, high: $0.high * layout.scale) }))
    }
    return results
  }

  /// Resets the state for frames of another size, and when time goes back; returns whether it did.
  private mutating func adapt(to frame: EffectFrame) -> Bool {
    let size = SIMD2(frame.buffer.format.width, frame.buffer.format.height)
    let goesBack = self.lastTime.map { frame.timestamp < $0 } ?? false
    guard size != self.size || goesBack else { return false }
    if size != self.size {
      self.layout = PrivacyLayout(
        width: size.x, height: size.y, minimumFace: self.minimumFace, enlargement: frame.enlargement)
      self.limit = self.describeLimit(of: size, isEnlarged: frame.enlargement > 1)
      let (width, height) = (self.layout.width, self.layout.height)
      self.scaled = PixelBuffer(format: VideoFormat(width: width, height: height))
      self.samples = PixelBuffer(
        format: VideoFormat(width: (width + 1) / 2, height: (height + 1) / 2))
    }
    self.size = size
    self.schedule = PrivacySchedule(
      isImmediate: self.layout.cells.map(\.isImmediate), runs: self.layout.probes.map(\.cells))
    self.covers = PrivacyCovers(minimumFace: self.layout.promisedFace)
    self.changes = FrameChanges(width: self.samples.format.width, height: self.samples.format.height)
    self.rejected = RejectedCandidates()
    self.held = []
    self.lastTime = nil
    return true
  }

  /// Says from which size on faces are found, where that is larger than the one that is searched for; for users.
  private func describeLimit(of size: SIMD2<Int>, isEnlarged: Bool) -> String? {
    guard self.layout.promisedFace > self.layout.minimumFace * 1.02 else { return nil }
    func percent(_ part: Float) -> String {
      let tenths = Int((part * 1000).rounded())
      return "\(tenths / 10).\(tenths % 10)%"
    }
    let pixels = self.layout.promisedFace * self.layout.scale.y
    let frames = isEnlarged ? "enlarged to \(size.x) × \(size.y)" : "of \(size.x) × \(size.y)"
    return "in frames \(frames) pixels, faces below \(Int(pixels.rounded())) pixels may be shown "
      + "(\(percent(pixels / Float(size.min()))) of the shorter side instead of \(percent(self.minimumFace))); "
      + (isEnlarged ? "use a source with more pixels" : "use a larger frame")
  }

  /// Scales the frame for the detectors, and further for the comparison with earlier frames.
  private mutating func scale(_ frame: EffectFrame) {
    let (from, to, small) = (
      Canvas(frame.buffer).pointers(), Canvas(self.scaled).pointers(), Canvas(self.samples).pointers()
    )
    let (width, height) = (Int32(self.layout.width), Int32(self.layout.height))
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride,
      Int32(frame.buffer.format.width), Int32(frame.buffer.format.height), to.luma, to.lumaStride, to.cb,
      to.chromaStride, to.cr, to.chromaStride, width, height, kFilterBox)
    ScalePlane(
      to.luma, to.lumaStride, width, height, small.luma, small.lumaStride, Int32(self.samples.format.width),
      Int32(self.samples.format.height), kFilterBox)
    self.changes.add(small.luma, stride: Int(small.lumaStride))
    withExtendedLifetime((frame.buffer, self.scaled, self.samples)) {}
  }

  /// Pixels of the scaled frame per block.
  private static let blockSide = 2 * FrameChanges.blockSide

  /// Covered blocks need no search: they are not shown.
  private mutating func noteVisibleChanges(at time: MediaTime) {
    self.visibleChanges = self.changes.changes
    let (columns, rows) = (self.changes.columns, self.changes.rows)
    for box in self.covers.boxes(at: time) ?? [] {
      let side = Float(Self.blockSide)
      func bounded(_ value: Float, _ limit: Int) -> Int { Int(max(0, min(value, Float(limit)))) }
      let left = bounded((box.low.x / side).rounded(.up), columns), right = bounded(box.high.x / side, columns)
      let top = bounded((box.low.y / side).rounded(.up), rows), bottom = bounded(box.high.y / side, rows)
      guard left < right, top < bottom else { continue }
      for row in top..<bottom {
        for column in left..<right { self.visibleChanges[row * columns + column] = 0 }
      }
    }
  }

  /// Whether a square has changed since the frame of a number, by any of its blocks.
  private func hasChanged(_ square: FaceTile, since number: Int) -> Bool {
    let (columns, rows, side) = (self.changes.columns, self.changes.rows, Self.blockSide)
    let left = max(0, square.x) / side, right = min(columns, (max(0, square.x + square.side) + side - 1) / side)
    let top = max(0, square.y) / side, bottom = min(rows, (max(0, square.y + square.side) + side - 1) / side)
    guard left < right, top < bottom else { return false }
    return (top..<bottom).contains { row in
      (left..<right).contains { self.changes.changes[row * columns + $0] > number }
    }
  }

  private static func hasChanged(
    _ cell: PrivacyLayout.Cell, since number: Int, _ visible: [Int], columns: Int
  ) -> Bool {
    let rows = visible.count / max(1, columns)
    let (x, y) = (cell.reach.x, cell.reach.y)
    let left = x.lowerBound / Self.blockSide, right = min(columns, (x.upperBound - 1) / Self.blockSide + 1)
    let top = y.lowerBound / Self.blockSide, bottom = min(rows, (y.upperBound - 1) / Self.blockSide + 1)
    guard left < right, top < bottom else { return false }
    let tolerance = max(1, Int(cell.tolerance) / (Self.blockSide * Self.blockSide))
    var count = 0
    return visible.withUnsafeBufferPointer { visible in
      for row in top..<bottom {
        for column in left..<right where visible[row * columns + column] > number { count += 1 }
        if count >= tolerance { return true }
      }
      return false
    }
  }
}

// MARK: Models

extension PrivacySearch {
  private mutating func run(_ batch: PrivacySchedule.Batch, _ frame: EffectFrame, completes: Bool) {
    let time = frame.timestamp
    guard !batch.runs.isEmpty, let threads = self.startedThreads(at: time) else { return }
    let begin = StreamClock.system.now()
    let limit = completes ? self.limits.complete : self.limits.frame
    self.inputs.reuse()
    var jobs = batch.runs.map { index in
      let probe = self.layout.probes[index]
      return DetectionThreads.Job(
        model: probe.model,
        input: self.inputs.make(self.scaled, probe.tile, probe.orientation, side: probe.model.inputSide),
        threshold: probe.threshold)
    }
    var outcome = threads.run(
      &jobs, requiredCount: batch.requiredCount, optional: frame.budget / 2, limit: limit,
      runTimeout: self.limits.runTimeout)
    var candidates: [FaceCandidate] = []
    var checks: [CandidateCheck] = []
    var finished: [Int] = []
    self.modelRuns.searches += jobs.count { $0.isDone }
    for (index, job) in zip(batch.runs, jobs) where job.isDone {
      finished.append(index)
      self.sort(job.found, of: self.layout.probes[index], at: time, into: &candidates, or: &checks)
    }
    // Weak candidates that are covered anyway are not checked.
    let covered = candidates.map(PrivacyCovers.Box.init(covering:))
    checks.removeAll { check in
      check.candidates[0].score < CandidateCheck.likelyScore
        && check.candidates.allSatisfy { weak in
          let face = PrivacyCovers.Box(low: weak.center - weak.size / 2, high: weak.center + weak.size / 2)
          return covered.contains { $0.contains(face) }
        }
    }
    if case .finished = outcome, !checks.isEmpty {
      let rest = max(.zero, limit - (StreamClock.system.now() - begin))
      outcome = self.look(again: checks, at: frame, threads, limit: rest, into: &candidates)
    } else {
      candidates += checks.flatMap(\.candidates)
    }
    self.covers.add(candidates, at: time, from: self.schedule.held.first?.time ?? time)
    self.schedule.finish(finished)
    switch outcome {
    case .finished: self.supervision.isAlive = true
    case .late, .stopped, .dead:
      // The threads may still read the frames of their jobs.
      if threads.isRunning {
        self.hung.append(threads)
        self.allHung.insert(threads)
      }
      self.updateGivenUp()
      self.threads = nil
      self.inputs.abandon()
      self.supervision.isAlive = false
      if case .late = outcome { self.supervision.stalls += 1 }
      if case .dead = outcome { self.supervision.failures += 1 }
    }
  }

  /// Divides what a detector has found into candidates to cover and those that need a second look.
  private func sort(
    _ found: [FaceCandidate], of probe: PrivacyLayout.Probe, at time: MediaTime, into candidates: inout [FaceCandidate],
    or checks: inout [CandidateCheck]
  ) {
    let side = Float(probe.tile.side)
    let bound = SIMD2(Float(self.layout.width), Float(self.layout.height))
    let placed = found.compactMap { candidate -> FaceCandidate? in
      guard candidate.size.max() >= probe.minimumSize else { return nil }
      let placed = candidate.turnedBack(probe.orientation).moved(
        by: SIMD2(Float(probe.tile.x), Float(probe.tile.y)), scaledBy: SIMD2(side, side))
      // Mirror images outside of the frame.
      let (low, high) = (placed.center + placed.size / 2, placed.center - placed.size / 2)
      let isOutside = low.x < 0 || low.y < 0 || high.x > bound.x || high.y > bound.y
      return isOutside ? nil : placed
    }
    for group in CandidateCheck.groups(placed) {
      let sightings = self.covers.sightings(ofFaceContinuedBy: group[0], at: time)
      let isSmall = group[0].size.max() < CandidateCheck.minimumSize * self.layout.minimumFace
      // A face that was seen before: turned away, or behind a hand.
      if group[0].score >= CandidateCheck.sureScore(of: probe.model, isSmall: isSmall)
        || sightings >= CandidateCheck.knownSightings
      {
        candidates += group
      } else if case .covered(let score) = self.limits.weakCandidates {
        if group[0].score >= score || sightings > 0 { candidates += group }
      } else if sightings > 0 || !isSmall {
        let check = CandidateCheck(
          group, of: probe.model, orientation: probe.orientation, isContinuation: sightings > 0)
        if !self.rejected.contains(check, at: time, hasChanged: self.hasChanged) { checks.append(check) }
      }
    }
  }

  /// Has both detectors look at weak candidates again; those that are faces, or could not be looked at, are covered.
  private mutating func look(
    again checks: [CandidateCheck], at frame: EffectFrame, _ threads: DetectionThreads, limit: MediaDuration,
    into candidates: inout [FaceCandidate]
  ) -> DetectionThreads.Outcome {
    // Squares of the source frame: it has more detail than the scaled one.
    let scale = self.layout.scale
    var placed: [CandidateCheck] = []
    for (index, check) in checks.enumerated() {
      if index >= CandidateCheck.limit {
        candidates += check.candidates
      } else {
        placed.append(check.scaled(by: scale))
      }
    }
    self.inputs.reuse()
    var jobs = placed.flatMap { check in
      check.looks.map { look in
        DetectionThreads.Job(
          model: look.model,
          input: self.inputs.make(frame.buffer, look.tile, check.orientation, side: look.model.inputSide),
          threshold: 0)
      }
    }
    let outcome = threads.run(
      &jobs, requiredCount: jobs.count, optional: limit, limit: limit, runTimeout: self.limits.runTimeout)
    self.modelRuns.looks += jobs.count { $0.isDone }
    var first = 0
    for (check, placed) in zip(checks, placed) {
      let own = first..<min(jobs.count, first + placed.looks.count)
      first += placed.looks.count
      let areDone = own.count == placed.looks.count && own.allSatisfy { jobs[$0].isDone }
      let found = zip(own, placed.looks).map { index, look in
        let tile = look.tile
        return jobs[index].found.map {
          $0.turnedBack(placed.orientation).moved(
            by: SIMD2(Float(tile.x), Float(tile.y)), scaledBy: SIMD2(repeating: Float(tile.side)))
        }
      }
      if !areDone || placed.isFace(found) {
        candidates += check.candidates
      } else {
        self.rejected.add(check, number: self.changes.number, at: frame.timestamp)
      }
    }
    return outcome
  }

  private mutating func updateGivenUp() {
    self.hung.removeAll { !$0.isRunning }
    self.supervision.isGivenUp = self.hung.count >= Self.maximumHungCount || self.allHung.isFull
  }

  private mutating func startedThreads(at time: MediaTime) -> DetectionThreads? {
    if let threads { return threads }
    if self.cancellation.isCancelled { return nil }
    self.updateGivenUp()
    if self.supervision.isGivenUp { return nil }
    if let lastStart, self.supervision.stalls + self.supervision.failures > 1, time >= lastStart,
      time - lastStart < Self.restartInterval
    {
      return nil
    }
    let (count, makeDetect) = (self.limits.threadCount, self.makeDetect)
    guard let threads = self.allHung.start({ DetectionThreads(count: count, makeDetect: makeDetect) }) else {
      self.supervision.isGivenUp = true
      return nil
    }
    self.lastStart = time
    self.threads = threads
    self.cancellation.watch(threads)
    return threads
  }
}
