internal import Media

/// Decides when a camera that delivers nothing usable is restarted, and when it is given up and reopened. Pure: the time is
/// an argument.
///
/// After half a second of failures streaming is stopped and started again, which resynchronizes many USB cameras; when that
/// does not help within two seconds, or failures come back soon, the camera is reopened with the back-off of
/// ``CameraRecovery``.
struct CameraHealth {
  /// Defect of a buffer that a camera delivers in place of a usable frame.
  enum Failure: Hashable {
    /// A buffer that the driver marks as damaged (`V4L2_BUF_FLAG_ERROR`), or an image that cannot be decoded.
    case damaged
    /// A buffer that holds no whole frame.
    case incomplete
    /// No buffer, although the device reports one (`POLLIN`).
    case missing

    /// The call to report when the camera is given up.
    var call: V4L2Failure.Call {
      switch self {
      case .damaged: .damaged
      case .incomplete: .incomplete
      case .missing: .missing
      }
    }
  }

  enum Action: Hashable {
    case none
    /// Stop and start streaming.
    case restart
    /// Close the camera and open it again.
    case reopen
  }

  /// Duration of failures before a restart.
  static let restartTime = MediaDuration.milliseconds(500)
  /// Duration of failures after a restart before the camera is reopened.
  static let reopenTime = MediaDuration.seconds(2)
  /// Number of consecutive failures before anything is done: slow cameras have few frames in that time.
  static let minimumCount = 5
  /// Time after a restart within which a new failure is not met by another one.
  static let restartInterval = MediaDuration.seconds(5)

  private var count = 0
  private var since: MediaTime?
  private var lastRestart: MediaTime?

  /// Records a usable frame.
  mutating func handleUsable() {
    (self.count, self.since) = (0, nil)
  }

  /// Records a failure.
  ///
  /// - Returns: What to do now.
  mutating func handleFailure(at now: MediaTime) -> Action {
    let since = self.since ?? now
    self.since = since
    self.count += 1
    let isRestarted = self.lastRestart.map { since - $0 < Self.restartInterval } ?? false
    guard self.count >= Self.minimumCount, now - since >= (isRestarted ? Self.reopenTime : Self.restartTime) else {
      return .none
    }
    if isRestarted { return .reopen }
    (self.count, self.since, self.lastRestart) = (0, nil, now)
    return .restart
  }
}
