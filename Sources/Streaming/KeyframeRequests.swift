internal import Media

/// Decides at which picture a keyframe is forced: as soon as one is asked for, yet at most one each half second.
struct KeyframeRequests {
  /// The least time between a keyframe and a forced one.
  static let interval = MediaDuration.milliseconds(500)

  /// Whether one was asked for and has not come yet.
  private(set) var isPending = false
  private var lastKeyframe: MediaTime?

  /// Asks for a keyframe.
  mutating func request() {
    self.isPending = true
  }

  /// The time from which the pending request is met; nil without one.
  var dueTime: MediaTime? {
    self.isPending ? self.lastKeyframe.map { $0 + Self.interval } ?? .zero : nil
  }

  /// Whether the picture of this time is to be a keyframe.
  func forcesKeyframe(at time: MediaTime) -> Bool {
    self.dueTime.map { time >= $0 } ?? false
  }

  /// Told of each keyframe that the encoder made, asked for or not.
  mutating func keyframeEncoded(at time: MediaTime) {
    self.isPending = false
    self.lastKeyframe = time
  }
}
