internal import Media

/// What is done about a camera that was lost: how soon it is looked for, what of it is told, and when its pictures are
/// shown again.
///
/// A camera that opens and soon fails again would have viewers see camera and slate in turn, and fill the log. From its
/// second failure in turn on it is opened less and less often, and its pictures are held back until they have come for
/// some seconds.
struct CameraRecovery {
  /// How long pictures must come until the failures before them are forgotten.
  static let goodTime = MediaDuration.seconds(5)
  /// How long between two looks for a camera.
  static let searchInterval = MediaDuration.milliseconds(400)
  /// The longest until a camera that has failed is opened again.
  static let longestInterval = MediaDuration.seconds(10)
  /// How long a camera that is there must refuse to open until that is told: one that was just plugged in may do so.
  static let patience = MediaDuration.seconds(3)

  /// How often it has failed in turn.
  private(set) var failureCount = 0
  private var refusedSince: MediaTime?
  private var isRefusalTold = false

  /// How long to wait before it is first looked for.
  var interval: MediaDuration {
    min(Self.searchInterval * Int64(1 << min(max(0, self.failureCount - 1), 8)), Self.longestInterval)
  }

  /// How long its pictures are held back when it is there again.
  var trial: MediaDuration {
    self.failureCount > 1 ? Self.goodTime : .zero
  }

  /// Takes note of a failure.
  ///
  /// - Parameter run: What came from the camera since it was opened.
  /// - Returns: Whether to tell of it.
  mutating func handleFailure(after run: CameraOutput.Run) -> Bool {
    if run.duration >= Self.goodTime {
      self.failureCount = 0
      self.isRefusalTold = false
    }
    self.failureCount += 1
    self.refusedSince = nil
    return run.isShown || self.failureCount == 1
  }

  /// Takes note that it is there, and cannot be opened.
  ///
  /// - Returns: Whether to tell of it: once, when it stays so.
  mutating func handleRefusal(at now: MediaTime) -> Bool {
    let since = self.refusedSince ?? now
    self.refusedSince = since
    guard !self.isRefusalTold, now - since >= Self.patience else { return false }
    self.isRefusalTold = true
    return true
  }

  /// Takes note that it is not there.
  mutating func handleAbsence() {
    self.refusedSince = nil
  }
}
