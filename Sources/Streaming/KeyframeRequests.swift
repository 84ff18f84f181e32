internal import Media

/// Decides at which picture a keyframe is forced: as soon as one is asked for, yet at most one each half second; and when
/// the last one is too long ago, which an encoder that counts pictures does not see with a slow source.
struct KeyframeRequests {
  /// The least time between a keyframe and a forced one.
  static let interval = MediaDuration.milliseconds(500)

  /// Whether one was asked for and has not come yet.
  private(set) var isPending = false
  private var lastKeyframe: MediaTime?
  /// The longest time between two keyframes.
  private let longestInterval: MediaDuration

  init(longestInterval: MediaDuration) {
    self.longestInterval = longestInterval
  }

  /// Asks for a keyframe.
  mutating func request() {
    self.isPending = true
  }

  /// The time from which the pending request is met; nil without one.
  var dueTime: MediaTime? {
    self.isPending ? self.earliest : nil
  }

  /// The time from which a keyframe may be forced.
  private var earliest: MediaTime {
    self.lastKeyframe.map { $0 + Self.interval } ?? .zero
  }

  /// Whether the picture of this time is to be a keyframe.
  func forcesKeyframe(at time: MediaTime) -> Bool {
    if let lastKeyframe, time - lastKeyframe >= self.longestInterval { return true }
    return self.dueTime.map { time >= $0 } ?? false
  }

  /// Whether a picture of this time may be made a keyframe without a request.
  func allowsKeyframe(at time: MediaTime) -> Bool {
    time >= self.earliest
  }

  /// Told of each keyframe that the encoder made, asked for or not.
  mutating func keyframeEncoded(at time: MediaTime) {
    self.isPending = false
    self.lastKeyframe = time
  }
}
