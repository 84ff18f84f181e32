internal import Media
internal import Threading

/// Detects faces in one small frame at a time on a thread of its own, while the stream continues.
///
/// A thread whose model does not return in time is given up and replaced, with a detector of its own; it ends when the model
/// returns. While too many threads hang, none is started.
struct FaceSearch {
  /// A tile scaled to the detector's input size.
  struct Job {
    var index: Int
    var tile: FaceTile
    var time: MediaTime
  }

  /// Adds the faces detected in a square frame, in units from 0 to 1; returns false when the detector has failed for
  /// good.
  typealias Detect = @Sendable (PixelBuffer, inout [FaceCandidate]) -> Bool

  /// Creates the detector of a thread.
  typealias MakeDetect = @Sendable () -> Detect

  /// Maximum number of threads of one search that hang in a model.
  static let maximumAbandonedCount = 2

  /// Pixels of the job: written while there is no job, read by the thread during a job.
  private(set) var input: PixelBuffer
  /// Nil where too many threads hang already.
  private var thread: DetectionThreads?
  /// Threads that were given up, and have not returned from their model.
  private var abandoned: [DetectionThreads] = []
  private let hung: HungDetections
  private let timeout: MediaDuration
  private let makeDetect: MakeDetect
  private var job: Job?
  private var startTime = MediaTime.zero

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - side: Input size of the detector.
  ///   - timeout: Time after which a thread that has not returned is replaced.
  ///   - hung: Threads of all searches that hang.
  ///   - makeDetect: Creates the detector of a thread, which returns false when it has failed for good.
  init(side: Int, timeout: MediaDuration, hung: HungDetections, makeDetect: @escaping MakeDetect) {
    self.input = PixelBuffer(format: VideoFormat(width: side, height: side))
    (self.timeout, self.hung, self.makeDetect) = (timeout, hung, makeDetect)
    self.startThread()
  }

  /// Whether detection has failed for good, or as many threads hang as may.
  var isDead: Bool { self.thread?.isDead ?? true }

  /// Whether a job can be started: ``input`` may be written then.
  var isIdle: Bool { self.job == nil && !self.isDead }

  /// Starts detection in ``input``; only while ``isIdle``.
  mutating func start(_ job: Job) {
    self.job = job
    self.startTime = StreamClock.system.now()
    self.thread?.start(DetectionThreads.Job(model: .fullRangeDetector, input: self.input))
  }

  /// Returns the completed job, once.
  ///
  /// - Parameter found: Receives the candidates; its memory is reused for the next job.
  mutating func takeResult(_ found: inout [FaceCandidate]) -> Job? {
    guard let job = self.job, self.thread?.takeFinished(into: &found) == true else { return nil }
    self.job = nil
    return job
  }

  /// Replaces a thread that hangs, with its job; starts one that could not be started before.
  mutating func superviseThread() {
    if let thread, !thread.isDead, self.job != nil, StreamClock.system.now() - self.startTime >= self.timeout {
      self.end()
      self.abandoned.append(thread)
      (self.thread, self.job) = (nil, nil)
      // The thread may still read the old one.
      self.input = PixelBuffer(format: self.input.format)
    }
    if self.thread == nil { self.startThread() }
  }

  private mutating func startThread() {
    self.abandoned.removeAll { !$0.isRunning }
    guard self.abandoned.count < Self.maximumAbandonedCount else { return }
    let makeDetect = self.makeDetect
    self.thread = self.hung.start {
      DetectionThreads {
        let detect = makeDetect()
        return { job, found in detect(job.input, &found) }
      }
    }
  }

  /// Ends the thread after the current job, which may never return.
  func end() {
    guard let thread else { return }
    thread.stop()
    if thread.isRunning { self.hung.insert(thread) }
  }
}
