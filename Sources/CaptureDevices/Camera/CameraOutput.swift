internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// Where a camera's pictures go until it is told to stop; from then on nothing comes through, also from a thread that
/// still waits for a device. Pictures of a camera on trial are held back.
final class CameraOutput: Sendable {
  private let consumer: any VideoConsumer
  private let wake: WakePipe
  private let state: CameraState
  private let run = Mutex(Run())

  /// What has come since the camera was opened.
  struct Run: Sendable {
    /// How long pictures must come before they are handed on.
    fileprivate var trial = MediaDuration.zero
    fileprivate var first: MediaTime?
    fileprivate var last: MediaTime?
    /// Whether a picture was handed on.
    fileprivate(set) var isShown = false

    /// A camera that gives nothing yet.
    init(trial: MediaDuration = .zero) {
      self.trial = trial
    }

    /// The time between the first and the last picture.
    var duration: MediaDuration {
      guard let first, let last else { return .zero }
      return last - first
    }

    /// Takes note of a picture.
    ///
    /// - Parameter isStart: Whether a decoder can begin with it.
    /// - Returns: Whether to hand it on.
    mutating func admits(_ time: MediaTime, isStart: Bool) -> Bool {
      self.first = self.first ?? time
      self.last = time
      if !self.isShown { self.isShown = isStart && self.duration >= self.trial }
      return self.isShown
    }
  }

  init(_ consumer: any VideoConsumer, wake: WakePipe, state: CameraState) {
    self.consumer = consumer
    self.wake = wake
    self.state = state
  }

  /// The camera was opened anew.
  func begin(trial: MediaDuration) {
    self.run.withLock { $0 = Run(trial: trial) }
  }

  /// What came since then.
  var present: Run {
    self.run.withLock { $0 }
  }

  /// Hands over a frame.
  func consume(_ frame: VideoFrame) {
    if self.wake.isStopped || !self.run.withLock({ $0.admits(frame.timestamp, isStart: true) }) { return }
    self.consumer.consume(frame)
  }

  /// Hands over a compressed picture.
  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    let (time, isStart) = (sample.presentationTime, sample.isKeyframe)
    if self.wake.isStopped || !self.run.withLock({ $0.admits(time, isStart: isStart) }) { return }
    self.consumer.consume(sample, of: description)
  }

  /// Tells of pictures that could not be used, or never came.
  func skip(at times: MediaTime...) {
    self.skip(at: times)
  }

  func skip(at times: [MediaTime]) {
    if self.wake.isStopped { return }
    for time in times { self.consumer.captureSkipped(at: time) }
  }

  /// Notes the format of the frames that follow, and tells of it when it is another one.
  func announce(_ format: VideoFormat) {
    let isNew = self.state.withLock { state in
      defer { state.format = format }
      return state.format != format
    }
    if isNew, !self.wake.isStopped { self.consumer.captureFormatChanged(to: format) }
  }

  /// Tells that the camera is lost, or why it does not come back.
  func end(_ error: VidiconError) {
    if !self.wake.isStopped { self.consumer.captureEnded(error) }
  }
}
