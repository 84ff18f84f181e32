internal import Media

/// The timestamps of frames that come through a pipe: even, although their arrival is not.
///
/// A frame is due one interval after the one before. One that comes earlier waits until then, which holds back a program
/// that writes as fast as it can. One that comes later shifts what is due by a tenth of its lateness, so that a jitter of
/// some milliseconds is not seen while a program that is slower than it said is followed; one that is much too late
/// starts anew.
struct PipePace {
  private let interval: MediaDuration
  private var due: MediaTime?

  /// How late a frame may be before it starts anew.
  static let patience = MediaDuration.milliseconds(250)
  private static let smoothing: Int64 = 10

  init(rate: FrameRate) {
    self.interval = rate.frameInterval
  }

  /// The timestamp of the next frame, which began to arrive at a time; later than that when it came too early.
  mutating func time(ofFrameArriving arrival: MediaTime) -> MediaTime {
    var time = self.due ?? arrival
    let lateness = arrival - time
    if lateness > Self.patience {
      time = arrival
    } else if lateness > .zero {
      time += lateness / Self.smoothing
    }
    self.due = time + self.interval
    return time
  }
}
