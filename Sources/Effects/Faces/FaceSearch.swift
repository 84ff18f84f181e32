internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Worker thread that detects faces in one small frame at a time, while the stream continues.
// Safe because everything that changes is read and written under the lock.
final class FaceSearch: @unchecked Sendable {
  /// A tile scaled to the detector's input size.
  struct Job {
    var index: Int
    var tile: FaceTile
    var time: MediaTime
  }

  /// Adds the faces detected in a square frame, in units from 0 to 1; returns false when the detector has failed for
  /// good.
  typealias Detect = @Sendable (PixelBuffer, inout [FaceCandidate]) -> Bool

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var job: Job?
  /// The completed job, and its candidates in units of its tile, 0 to 1.
  private var doneJob: Job?
  private var found: [FaceCandidate] = []
  private var isEnding = false
  private var hasEnded = false
  /// Pixels of the job: written by the stream's thread while there is no job, read by this one during a job.
  let input: PixelBuffer

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - side: Input size of the detector.
  ///   - detect: Detects faces; returns false when it has failed for good. Called on the thread only.
  init(side: Int, detect: @escaping Detect) {
    self.input = PixelBuffer(format: VideoFormat(width: side, height: side))
    self.lock.initialize(to: pthread_mutex_t())
    self.wake.initialize(to: pthread_cond_t())
    pthread_mutex_init(self.lock, nil)
    pthread_cond_init(self.wake, nil)
    let start = Unmanaged.passRetained(Start(search: self, detect: detect))
    #if canImport(Darwin)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let isStarted =
      pthread_create(
        &thread, nil,
        { argument in
          // Never nil: the argument is the pointer that was passed.
          let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
          start.search.run(start.detect)
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
    pthread_cond_destroy(self.wake)
    pthread_mutex_destroy(self.lock)
    self.wake.deallocate()
    self.lock.deallocate()
  }

  private final class Start {
    let search: FaceSearch
    let detect: Detect

    init(search: FaceSearch, detect: @escaping Detect) {
      (self.search, self.detect) = (search, detect)
    }
  }

  private func withLock<Value>(_ body: () -> Value) -> Value {
    pthread_mutex_lock(self.lock)
    defer { pthread_mutex_unlock(self.lock) }
    return body()
  }

  /// Whether detection has failed for good.
  var isDead: Bool { self.withLock { self.hasEnded } }

  /// Whether a job can be started: ``input`` may be written then.
  var isIdle: Bool { self.withLock { self.job == nil && self.doneJob == nil && !self.hasEnded } }

  /// Starts detection in ``input``; only while ``isIdle``.
  func start(_ job: Job) {
    self.withLock {
      self.job = job
      pthread_cond_signal(self.wake)
    }
  }

  /// Returns the completed job, once.
  ///
  /// - Parameter found: Receives the candidates; its memory is reused for the next job.
  func takeResult(_ found: inout [FaceCandidate]) -> Job? {
    self.withLock {
      guard let job = self.doneJob else { return nil }
      swap(&self.found, &found)
      self.doneJob = nil
      return job
    }
  }

  /// Ends the thread after the current job.
  func end() {
    self.withLock {
      self.isEnding = true
      pthread_cond_signal(self.wake)
    }
  }

  private func run(_ detect: Detect) {
    var found: [FaceCandidate] = []
    while let job = self.nextJob() {
      found.removeAll(keepingCapacity: true)
      let goesOn = detect(self.input, &found)
      self.withLock {
        if goesOn {
          swap(&self.found, &found)
          self.doneJob = job
        }
        self.job = nil
        self.hasEnded = !goesOn
      }
      guard goesOn else { return }
    }
  }

  private func nextJob() -> Job? {
    self.withLock {
      while self.job == nil, !self.isEnding { pthread_cond_wait(self.wake, self.lock) }
      if self.isEnding { self.hasEnded = true }
      return self.isEnding ? nil : self.job
    }
  }
}
