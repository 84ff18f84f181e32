internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// Forwards a camera's frames to the consumer until the camera is stopped, also when its thread is then still blocked in a
/// system call. Withholds the frames of a camera on trial; see ``CameraRecovery``.
final class CameraOutput: Sendable {
  private let consumer: any VideoConsumer
  private let wake: WakePipe
  private let state: CameraState
  private let run = Mutex(Run())

  /// The frames since the camera was opened.
  struct Run: Sendable {
    /// Duration for which frames must come before they are forwarded.
    fileprivate var trial = MediaDuration.zero
    fileprivate var first: MediaTime?
    fileprivate var last: MediaTime?
    /// Whether a frame was forwarded.
    fileprivate(set) var isForwarding = false

    /// A run without frames.
    init(trial: MediaDuration = .zero) {
      self.trial = trial
    }

    /// Time between the first and the last frame.
    var duration: MediaDuration {
      guard let first, let last else { return .zero }
      return last - first
    }

    /// Records a frame.
    ///
    /// - Parameter isSyncFrame: Whether a decoder can start with it.
    /// - Returns: Whether to forward the frame.
    mutating func admit(_ time: MediaTime, isSyncFrame: Bool) -> Bool {
      self.first = self.first ?? time
      self.last = time
      if !self.isForwarding { self.isForwarding = isSyncFrame && self.duration >= self.trial }
      return self.isForwarding
    }
  }

  init(_ consumer: any VideoConsumer, wake: WakePipe, state: CameraState) {
    self.consumer = consumer
    self.wake = wake
    self.state = state
  }

  /// Starts a new run after the camera was opened again.
  func begin(trial: MediaDuration) {
    self.run.withLock { $0 = Run(trial: trial) }
  }

  /// The run since the camera was last opened.
  var currentRun: Run {
    self.run.withLock { $0 }
  }

  /// Forwards a frame.
  func consume(_ frame: VideoFrame) {
    if self.wake.isStopped || !self.run.withLock({ $0.admit(frame.timestamp, isSyncFrame: true) }) { return }
    self.consumer.consume(frame)
  }

  /// Forwards a compressed sample.
  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    let (time, isSyncFrame) = (sample.presentationTime, sample.isKeyframe)
    if self.wake.isStopped || !self.run.withLock({ $0.admit(time, isSyncFrame: isSyncFrame) }) { return }
    self.consumer.consume(sample, of: description)
  }

  /// Reports frames that could not be used or were lost, by capture time.
  func skip(at times: MediaTime...) {
    self.skip(at: times)
  }

  func skip(at times: [MediaTime]) {
    if self.wake.isStopped { return }
    for time in times { self.consumer.captureSkipped(at: time) }
  }

  /// Records the format of the frames that follow, and reports a change.
  func announce(_ format: VideoFormat) {
    let isChanged = self.state.withLock { state in
      defer { state.format = format }
      return state.format != format
    }
    if isChanged, !self.wake.isStopped { self.consumer.captureFormatChanged(to: format) }
  }

  /// Reports that the camera is lost, or why it cannot be opened again.
  func end(_ error: VidiconError) {
    if !self.wake.isStopped { self.consumer.captureEnded(error) }
  }
}
