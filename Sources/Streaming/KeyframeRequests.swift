internal import Media

/// Decides which frame is forced to be a keyframe: the next one after a request, at most every half second; and when
/// the last keyframe is too old, which encoders that count frames do not notice with a slow source.
struct KeyframeRequests {
  /// Minimum time between a keyframe and a forced one.
  static let interval = MediaDuration.milliseconds(500)

  /// Whether a request has not been met yet.
  private(set) var isPending = false
  private var lastKeyframe: MediaTime?
  /// Maximum time between two keyframes.
  private let maximumInterval: MediaDuration

  init(maximumInterval: MediaDuration) {
    self.maximumInterval = maximumInterval
  }

  /// Requests a keyframe.
  mutating func request() {
    self.isPending = true
  }

  /// The time at which the pending request may be met; nil without one.
  var dueTime: MediaTime? {
    self.isPending ? self.earliest : nil
  }

  /// The earliest time of a forced keyframe.
  private var earliest: MediaTime {
    self.lastKeyframe.map { $0 + Self.interval } ?? .zero
  }

  /// Whether a frame at this time must be a keyframe.
  func forcesKeyframe(at time: MediaTime) -> Bool {
    if let lastKeyframe, time - lastKeyframe >= self.maximumInterval { return true }
    return self.dueTime.map { time >= $0 } ?? false
  }

  /// Whether a frame at this time may be a keyframe without a request.
  func allowsKeyframe(at time: MediaTime) -> Bool {
    time >= self.earliest
  }

  /// Records a keyframe, requested or not: no request is pending any more.
  mutating func keyframeEncoded(at time: MediaTime) {
    self.isPending = false
    self.lastKeyframe = time
  }
}
