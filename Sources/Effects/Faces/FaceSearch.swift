internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A thread that looks for faces in one small frame at a time, while the stream's frames go on.
// Safe because everything that changes is read and written under the lock.
final class FaceSearch: @unchecked Sendable {
  /// A tile in the size of the detector's input.
  struct Job {
    var index: Int
    var tile: FaceTile
    var time: MediaTime
  }

  /// Adds what it finds in a small, square frame, in units of it, 0 to 1; false if it never will again.
  typealias Detect = @Sendable (PixelBuffer, inout [FaceCandidate]) -> Bool

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let wake = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var job: Job?
  /// The job that is done, and what was found, in units of its tile, 0 to 1.
  private var doneJob: Job?
  private var found: [FaceCandidate] = []
  private var isEnding = false
  private var hasEnded = false
  /// The frame of the job: written by the stream's thread while there is no job, read by this one while there is one.
  let input: PixelBuffer

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - side: Of the detector's input.
  ///   - detect: Finds faces, nil if it never will again. Called on the thread only.
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
          // No trap: the argument is what was passed.
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

  /// Whether nothing will be found any more.
  var isDead: Bool { self.withLock { self.hasEnded } }

  /// Whether a job would be taken now: then ``input`` may be written.
  var isIdle: Bool { self.withLock { self.job == nil && self.doneJob == nil && !self.hasEnded } }

  /// Has faces looked for in ``input``; only while ``isIdle``.
  func start(_ job: Job) {
    self.withLock {
      self.job = job
      pthread_cond_signal(self.wake)
    }
  }

  /// The job that is done, once.
  ///
  /// - Parameter found: Gets what was found, and gives its memory.
  func takeResult(_ found: inout [FaceCandidate]) -> Job? {
    self.withLock {
      guard let job = self.doneJob else { return nil }
      swap(&self.found, &found)
      self.doneJob = nil
      return job
    }
  }

  /// Lets the thread end after what it is doing.
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
