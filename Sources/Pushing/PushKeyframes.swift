internal import Media

/// Keyframes of one connection of a push: when one may be requested, and whether the source makes any on request. Pure.
///
/// ``PushSender`` has one, which a new connection replaces.
struct PushKeyframes {
  /// Minimum time between two requests.
  private static let requestInterval = MediaDuration.seconds(1)
  /// Time after a request from which any other frame shows that the source has ignored the request, so that its next keyframe counts
  /// as late.
  private static let timeout = MediaDuration.milliseconds(500)
  /// Number of late keyframes in a row from which the source counts as one that makes none on request.
  private static let maximumLateCount = 2

  private var lastRequest: MediaTime?
  /// Arrival time of the last keyframe of the encoding that is sent; nil before the first.
  private var last: MediaTime?
  private var isRequestIgnored = false
  /// Number of late keyframes in a row.
  private var lateCount = 0

  /// Whether the source makes no keyframes on request.
  var areLate: Bool { self.lateCount >= Self.maximumLateCount }

  /// Whether the last keyframe is older than an interval.
  func isOverdue(after interval: MediaDuration, at now: MediaTime) -> Bool {
    self.last.map { now - $0 > interval } ?? false
  }

  /// Records a request, unless the last one is too young.
  ///
  /// - Returns: Whether it may be made.
  mutating func request(at now: MediaTime) -> Bool {
    if let lastRequest, now - lastRequest < Self.requestInterval { return false }
    self.lastRequest = now
    return true
  }

  /// Records a frame of the encoding that is sent.
  ///
  /// - Parameter isOfStream: Whether that is the stream's own, whose source is judged.
  mutating func handleFrame(isKeyframe: Bool, isOfStream: Bool, at now: MediaTime) {
    if isKeyframe {
      if isOfStream { self.lateCount = self.isRequestIgnored ? self.lateCount + 1 : 0 }
      (self.last, self.isRequestIgnored) = (now, false)
    } else if let last, let lastRequest, lastRequest > last, now - lastRequest >= Self.timeout {
      // Not a source with few frames, the next of which is a keyframe.
      self.isRequestIgnored = true
    }
  }
}
