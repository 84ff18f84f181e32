internal import Media

/// Skips frames of a source that is faster than the stream.
struct FrameRateLimiter {
  private let interval: MediaDuration
  private var due: MediaTime?

  init(_ rate: FrameRate) {
    self.interval = rate.frameInterval
  }

  /// Whether to use the frame of this time; up to a quarter of an interval early counts as on time.
  mutating func accepts(_ time: MediaTime) -> Bool {
    guard let due else {
      self.due = time + self.interval
      return true
    }
    // The source was restarted, or its clock has jumped.
    if time - due > .seconds(1) || due - time > .seconds(1) {
      self.due = time + self.interval
      return true
    }
    guard time + self.interval / 4 >= due else { return false }
    self.due = max(due + self.interval, time)
    return true
  }
}
