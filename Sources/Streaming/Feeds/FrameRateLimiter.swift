internal import Media

/// Thins out a source that is faster than the stream.
struct FrameRateLimiter {
  private let interval: MediaDuration
  private var due: MediaTime?

  init(_ rate: FrameRate) {
    self.interval = rate.frameInterval
  }

  /// Whether the frame of this time is wanted; up to a quarter of an interval before its time it is.
  mutating func accepts(_ time: MediaTime) -> Bool {
    guard let due else {
      self.due = time + self.interval
      return true
    }
    // A source that starts anew, or whose clock jumps, is not waited for.
    if time - due > .seconds(1) || due - time > .seconds(1) {
      self.due = time + self.interval
      return true
    }
    guard time + self.interval / 4 >= due else { return false }
    self.due = max(due + self.interval, time)
    return true
  }
}
