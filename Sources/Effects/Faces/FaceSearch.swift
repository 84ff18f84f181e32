internal import Media

/// Detects faces in one small frame at a time on a thread of its own, while the stream continues.
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

  /// Pixels of the job: written while there is no job, read by the thread during a job.
  let input: PixelBuffer
  private let thread: DetectionThreads
  private var job: Job?

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - side: Input size of the detector.
  ///   - detect: Detects faces; returns false when it has failed for good. Called on the thread only.
  init(side: Int, detect: @escaping Detect) {
    self.input = PixelBuffer(format: VideoFormat(width: side, height: side))
    self.thread = DetectionThreads { { job, found in detect(job.input, &found) } }
  }

  /// Whether detection has failed for good.
  var isDead: Bool { self.thread.isDead }

  /// Whether a job can be started: ``input`` may be written then.
  var isIdle: Bool { self.job == nil && !self.isDead }

  /// Starts detection in ``input``; only while ``isIdle``.
  mutating func start(_ job: Job) {
    self.job = job
    self.thread.start(DetectionThreads.Job(model: .fullRangeDetector, input: self.input))
  }

  /// Returns the completed job, once.
  ///
  /// - Parameter found: Receives the candidates; its memory is reused for the next job.
  mutating func takeResult(_ found: inout [FaceCandidate]) -> Job? {
    guard let job = self.job, self.thread.takeFinished(into: &found) else { return nil }
    self.job = nil
    return job
  }

  /// Ends the thread after the current job.
  func end() { self.thread.stop() }
}
