internal import Media
internal import Threading

/// Threads that run detector models on small frames, a batch at a time.
///
/// A batch is either waited for, with a deadline (``run(_:requiredCount:optional:limit:runTimeout:)``), or started and fetched
/// later (``start(_:)``, ``takeFinished(into:)``). A batch that misses its deadline is given up with its threads, which end on
/// their own when the models return.
final class DetectionThreads: Sendable {
  /// One run of a model, and its result.
  struct Job {
    let model: FaceModel
    /// Frame of the model's input size; written before the batch is started.
    let input: PixelBuffer
    /// Minimum score of a candidate.
    let threshold: Float
    /// The candidates in units from 0 to 1.
    var found: [FaceCandidate] = []
    /// Whether it has run.
    var isDone = false

    init(model: FaceModel, input: PixelBuffer, threshold: Float = 0) {
      (self.model, self.input, self.threshold) = (model, input, threshold)
    }
  }

  /// Adds the faces found in a job's frame, in units from 0 to 1; returns false when the detector has failed for good.
  typealias Detect = @Sendable (_ job: Job, _ found: inout [FaceCandidate]) -> Bool

  /// State of the threads after a batch.
  enum Outcome {
    /// All jobs have run, or the time for optional ones was over.
    case finished
    /// The deadline has passed: a model hangs, or the machine is too slow. Further batches need other threads.
    case late
    /// The threads were ended by ``stop()``; a model may still run.
    case stopped
    /// The detector has failed for good, or the system can start no thread.
    case dead
  }

  private struct State {
    var jobs: [Job] = []
    /// Number of jobs that were begun, of those that were not begun in time, and of those that run now.
    var begun = 0
    var running = 0
    var requiredCount = 0
    /// Time after which no optional job is begun, and no required one; nil without a limit.
    var optionalEnd: MediaTime?
    var end: MediaTime?
    var hasBatch = false
    var isEnding = false
    var hasFailed = false
    /// Whether a model has returned.
    var hasReturned = false

    var isFinished: Bool { !self.hasBatch && self.running == 0 }

    /// The next job, or nil where the rest of the batch is not to be begun.
    mutating func next(at now: MediaTime) -> (index: Int, job: Job)? {
      guard self.hasBatch else { return nil }
      let index = self.begun
      let end = index < self.requiredCount ? self.end : self.optionalEnd
      guard index < self.jobs.count, end.map({ now < $0 }) ?? true else {
        self.hasBatch = false
        return nil
      }
      self.begun += 1
      self.running += 1
      let job = self.jobs[index]
      // The thread owns the memory for the result while it runs.
      self.jobs[index].found = []
      return (index, job)
    }
  }

  private let state = Monitor(State())

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - count: Number of threads.
  ///   - makeDetect: Creates the detectors of a thread; called on this one.
  init(count: Int = 1, name: String = "face detection", makeDetect: () -> Detect) {
    for _ in 0..<max(1, count) {
      let (state, detect) = (self.state, makeDetect())
      let isStarted = WorkerThread.startDetached(named: name) { Self.run(detect, on: state) }
      if !isStarted { self.state.withLock { $0.hasFailed = true } }
    }
  }

  /// Ends the threads after their current jobs, and a wait for a batch at once.
  func stop() {
    self.state.withLock { $0.isEnding = true }
  }

  /// Whether a thread is in a model.
  var isRunning: Bool { self.state.read { $0.running > 0 } }

  /// Whether no model has returned yet, and one may be called or runs: they may hang.
  var isUnproven: Bool {
    self.state.read { !$0.hasReturned && !$0.hasFailed && ($0.running > 0 || !$0.isEnding) }
  }

  /// Whether the detector has failed for good.
  var isDead: Bool { self.state.read { $0.hasFailed } }

  /// Runs a batch and waits for it. After an outcome other than `finished` the object must not be used again, and the jobs'
  /// frames belong to the threads.
  ///
  /// - Parameters:
  ///   - requiredCount: Number of jobs, from the first, that run also after `optional`.
  ///   - optional: Time for the others.
  ///   - limit: Time after which nothing more is begun.
  ///   - runTimeout: Time for the jobs that run then.
  func run(
    _ jobs: inout [Job], requiredCount: Int, optional: MediaDuration, limit: MediaDuration, runTimeout: MediaDuration
  ) -> Outcome {
    let now = StreamClock.system.now()
    self.state.withLock {
      swap(&$0.jobs, &jobs)
      ($0.begun, $0.requiredCount) = (0, requiredCount)
      ($0.optionalEnd, $0.end) = (now + optional, now + limit)
      $0.hasBatch = true
    }
    let isDone: Bool? = self.state.wait(until: now + limit + runTimeout) {
      $0.isFinished || $0.hasFailed || $0.isEnding ? true : nil
    }
    return self.state.withLock {
      // A thread that is late finds no jobs any more.
      jobs = []
      swap(&$0.jobs, &jobs)
      $0.hasBatch = false
      if $0.hasFailed { return .dead }
      if $0.isEnding { return .stopped }
      if isDone == nil { $0.isEnding = true }
      return isDone == nil ? .late : .finished
    }
  }

  /// Starts a job without waiting for it; only after ``takeFinished(into:)`` has returned the one before.
  func start(_ job: Job) {
    self.state.withLock {
      // The memory of the last result is used again.
      if $0.jobs.isEmpty {
        $0.jobs.append(job)
      } else {
        var memory: [FaceCandidate] = []
        swap(&memory, &$0.jobs[0].found)
        $0.jobs[0] = job
        swap(&memory, &$0.jobs[0].found)
      }
      ($0.begun, $0.requiredCount, $0.optionalEnd, $0.end) = (0, 1, nil, nil)
      $0.hasBatch = true
    }
  }

  /// Exchanges the candidates of the job that was started; returns false while it runs.
  func takeFinished(into found: inout [FaceCandidate]) -> Bool {
    self.state.withLock {
      guard $0.isFinished, let job = $0.jobs.first, job.isDone else { return false }
      swap(&$0.jobs[0].found, &found)
      $0.jobs[0].isDone = false
      return true
    }
  }

  /// Next step of a thread.
  private enum Turn {
    case run(index: Int, job: Job)
    /// The batch is over, which its owner may wait for.
    case wait
    case end
  }

  private static func run(_ detect: Detect, on state: Monitor<State>) {
    while true {
      let turn = state.take { state -> Turn? in
        if state.isEnding || state.hasFailed { return .end }
        guard state.hasBatch else { return nil }
        return state.next(at: StreamClock.system.now()).map { .run(index: $0.index, job: $0.job) } ?? .wait
      }
      guard case .run(let index, var job) = turn else {
        if case .wait = turn { continue }
        return
      }
      var found: [FaceCandidate] = []
      swap(&found, &job.found)
      found.removeAll(keepingCapacity: true)
      let goesOn = detect(job, &found)
      state.withLock { state in
        state.running -= 1
        state.hasReturned = true
        state.hasFailed = state.hasFailed || !goesOn
        // The batch may have been given up.
        guard goesOn, state.jobs.indices.contains(index), state.jobs[index].input === job.input else { return }
        swap(&state.jobs[index].found, &found)
        state.jobs[index].isDone = true
      }
    }
  }
}
