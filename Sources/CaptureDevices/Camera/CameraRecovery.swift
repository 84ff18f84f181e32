internal import Media

/// Decides when a lost camera is searched for, which errors are reported, and when its frames are delivered again. Pure:
/// the time is an argument.
///
/// A camera that opens and soon fails again would alternate with the slate and fill the log. From its second consecutive
/// failure on, it is opened with exponential back-off, and its frames are withheld until they have come for some seconds.
/// A camera that is unplugged has not failed: it is shown as soon as it is back, each time.
struct CameraRecovery {
  /// Duration of frames after which earlier failures are forgotten.
  static let stableDuration = MediaDuration.seconds(5)
  /// Interval between two searches for the camera.
  static let searchInterval = MediaDuration.milliseconds(400)
  /// Maximum time until a camera that failed is opened again.
  static let maximumInterval = MediaDuration.seconds(10)
  /// Time for which a connected camera must fail to open before that is reported: a camera that was just plugged in may do so.
  static let refusalDelay = MediaDuration.seconds(3)

  /// Number of consecutive failures.
  private(set) var failureCount = 0
  /// Whether the camera was lost before.
  private var wasLost = false
  private var refusedSince: MediaTime?
  private var isRefusalReported = false

  /// Time to wait before the first search after a failure.
  var interval: MediaDuration {
    min(Self.searchInterval * Int64(1 << min(max(0, self.failureCount - 1), 8)), Self.maximumInterval)
  }

  /// Duration for which frames are withheld after the camera is back.
  var trial: MediaDuration {
    self.failureCount > 1 ? Self.stableDuration : .zero
  }

  /// Records that the camera was lost.
  ///
  /// - Parameters:
  ///   - run: The frames since the camera was opened.
  ///   - isUnplugged: Whether the camera was disconnected; it has failed otherwise.
  /// - Returns: Whether to report the loss.
  mutating func handleLoss(after run: CameraOutput.Run, isUnplugged: Bool) -> Bool {
    defer { self.wasLost = true }
    if isUnplugged {
      (self.failureCount, self.isRefusalReported, self.refusedSince) = (0, false, nil)
      return run.isForwarding || !self.wasLost
    }
    if run.duration >= Self.stableDuration {
      self.failureCount = 0
      self.isRefusalReported = false
    }
    self.failureCount += 1
    self.refusedSince = nil
    return run.isForwarding || self.failureCount == 1
  }

  /// Records that the camera is connected but cannot be opened.
  ///
  /// - Returns: Whether to report that: once, after ``refusalDelay``.
  mutating func handleRefusal(at now: MediaTime) -> Bool {
    let since = self.refusedSince ?? now
    self.refusedSince = since
    guard !self.isRefusalReported, now - since >= Self.refusalDelay else { return false }
    self.isRefusalReported = true
    return true
  }

  /// Records that the camera is not connected.
  mutating func handleAbsence() {
    self.refusedSince = nil
  }
}
