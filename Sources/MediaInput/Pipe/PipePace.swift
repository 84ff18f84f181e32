internal import Media

/// Even timestamps for frames that arrive unevenly through a pipe.
///
/// A frame is due one interval after the previous one. An early frame waits, which slows a program that writes as fast as it can. A
/// late frame shifts the schedule by a tenth of its delay, which hides a jitter of some milliseconds and follows a program that
/// is slower than its header says; a frame later than ``maximumDelay`` resets the schedule.
struct PipePace {
  private let interval: MediaDuration
  private var due: MediaTime?

  /// Maximum delay of a frame behind its schedule before the schedule is reset.
  static let maximumDelay = MediaDuration.milliseconds(250)
  private static let smoothing: Int64 = 10

  init(rate: FrameRate) {
    self.interval = rate.frameInterval
  }

  /// Timestamp of the next frame, given its arrival; in the future when the frame is early.
  mutating func time(ofFrameArriving arrival: MediaTime) -> MediaTime {
    var time = self.due ?? arrival
    let delay = arrival - time
    if delay > Self.maximumDelay {
      time = arrival
    } else if delay > .zero {
      time += delay / Self.smoothing
    }
    self.due = time + self.interval
    return time
  }
}
