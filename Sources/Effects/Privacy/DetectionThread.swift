internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Thread that runs detector models on small frames, a batch at a time, with a deadline. A batch that misses it is given up
/// with its thread, which ends on its own when the model returns.
// Safe because everything that changes is read and written under the lock.
final class DetectionThread: @unchecked Sendable {
  /// One run of a model, and its result.
  struct Job {
    let model: FaceModel
    /// Frame of the model's input size; written before the batch is started.
    let input: PixelBuffer
    /// The candidates in units from 0 to 1; nil until it has run.
    var found: [FaceCandidate]?
  }

  /// Adds the faces found in a square frame, in units from 0 to 1; returns false when the detector has failed for good.
  /// Called on one thread.
  typealias Detect = @Sendable (FaceModel, PixelBuffer, inout [FaceCandidate]) -> Bool

  /// State of the thread after a batch.
  enum Outcome {
    /// All jobs have run, or the time for optional ones was over.
    case finished
    /// The deadline has passed: the thread hangs, or the machine is too slow. Further batches need another thread.
    case late
    /// The detector has failed for good, or the system can start no thread.
    case dead
  }

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs: [Job] = []
  private var requiredCount = 0
  /// Monotonic time in nanoseconds after which no optional job is begun, and no required one.
  private var optionalEnd: Int64 = 0
  private var end: Int64 = 0
  private var hasWork = false
  private var isEnding = false
  private var hasEnded = false

  /// Starts the thread.
  ///
  /// - Parameter detect: Called on the thread only.
  init(detect: @escaping Detect) {
    self.lock.initialize(to: pthread_mutex_t())
    self.changed.initialize(to: pthread_cond_t())
    pthread_mutex_init(self.lock, nil)
    #if canImport(Darwin)
    pthread_cond_init(self.changed, nil)
    var thread: pthread_t?
    #else
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(self.changed, &attributes)
    pthread_condattr_destroy(&attributes)
    var thread = pthread_t()
    #endif
    let start = Unmanaged.passRetained(Start(thread: self, detect: detect))
    let isStarted =
      pthread_create(
        &thread, nil,
        { argument in
          // Never nil: the argument is the pointer that was passed.
          let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
          start.thread.run(start.detect)
          return nil
        }, start.toOpaque()) == 0
    guard isStarted else {
      start.release()
      self.hasEnded = true
      return
    }
    #if canImport(Darwin)
    if let thread { pthread_detach(thread) }
    #else
    pthread_detach(thread)
    #endif
  }

  deinit {
    pthread_cond_destroy(self.changed)
    pthread_mutex_destroy(self.lock)
    self.changed.deallocate()
    self.lock.deallocate()
  }

  private final class Start {
    let thread: DetectionThread
    let detect: Detect

    init(thread: DetectionThread, detect: @escaping Detect) {
      (self.thread, self.detect) = (thread, detect)
    }
  }

  /// Ends the thread after the current job.
  func stop() {
    self.withLock { self.isEnding = true }
  }

  /// Runs a batch and waits for it. After an outcome other than `finished` the object must not be used again, and the jobs'
  /// frames belong to the thread.
  ///
  /// - Parameters:
  ///   - requiredCount: Number of jobs, from the first, that run also after `optional`.
  ///   - optional: Time for the others.
  ///   - limit: Time after which nothing more is begun.
  ///   - runTimeout: Time for the job that runs then.
  func run(
    _ jobs: inout [Job], requiredCount: Int, optional: MediaDuration, limit: MediaDuration, runTimeout: MediaDuration
  ) -> Outcome {
    let now = Self.now
    self.withLock {
      self.jobs = jobs
      self.requiredCount = requiredCount
      (self.optionalEnd, self.end) = (now + optional.nanoseconds, now + limit.nanoseconds)
      self.hasWork = true
    }
    let isDone = self.wait(until: now + (limit + runTimeout).nanoseconds) { !self.hasWork || self.hasEnded }
    return self.withLock {
      jobs = self.jobs
      self.jobs = []
      if self.hasEnded { return .dead }
      if !isDone { self.isEnding = true }
      return isDone ? .finished : .late
    }
  }

  private func run(_ detect: Detect) {
    while true {
      _ = self.wait(until: nil) { self.hasWork || self.isEnding }
      var index = 0
      while let job = self.next(index) {
        var found: [FaceCandidate] = []
        let goesOn = detect(job.model, job.input, &found)
        self.withLock {
          // The batch may have been given up.
          if goesOn, self.jobs.indices.contains(index) { self.jobs[index].found = found }
          if !goesOn { self.hasEnded = true }
        }
        guard goesOn else { return }
        index += 1
      }
      let isEnding = self.withLock {
        self.hasWork = false
        return self.isEnding
      }
      guard !isEnding else { return }
    }
  }

  private func next(_ index: Int) -> Job? {
    self.withLock {
      guard !self.isEnding, self.jobs.indices.contains(index) else { return nil }
      return Self.now < (index < self.requiredCount ? self.end : self.optionalEnd) ? self.jobs[index] : nil
    }
  }

  private func withLock<Value>(_ body: () -> Value) -> Value {
    pthread_mutex_lock(self.lock)
    defer {
      pthread_cond_broadcast(self.changed)
      pthread_mutex_unlock(self.lock)
    }
    return body()
  }

  /// Waits until a condition holds under the lock; returns false when the time has passed.
  private func wait(until deadline: Int64?, for condition: () -> Bool) -> Bool {
    pthread_mutex_lock(self.lock)
    defer { pthread_mutex_unlock(self.lock) }
    while !condition() {
      guard let deadline else {
        pthread_cond_wait(self.changed, self.lock)
        continue
      }
      let remaining = deadline - Self.now
      guard remaining > 0 else { return false }
      #if canImport(Darwin)
      var time = timespec(tv_sec: Int(remaining / 1_000_000_000), tv_nsec: Int(remaining % 1_000_000_000))
      pthread_cond_timedwait_relative_np(self.changed, self.lock, &time)
      #else
      var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
      pthread_cond_timedwait(self.changed, self.lock, &time)
      #endif
    }
    return true
  }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
