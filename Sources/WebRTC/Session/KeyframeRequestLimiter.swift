internal import Media

/// Bounds the keyframes that one viewer asks for, so that one which always asks costs the others nothing that they see: some at
/// once, then one in ``interval``. Between them, the stream's regular keyframes have to do, where it has any.
struct KeyframeRequestLimiter: Sendable {
  /// Time in which requests are one.
  static let repetitionInterval = MediaDuration.seconds(1)
  /// Time after which one more request is allowed, of streams with and without regular keyframes.
  static let (interval, soleInterval) = (MediaDuration.seconds(5), MediaDuration.seconds(2))
  /// Maximum number of requests that are saved.
  static let maximumSaved = 4
  /// Round trip before the first report.
  static let presumedRoundTrip = MediaDuration.milliseconds(50)

  /// Time after which one more request is allowed.
  var interval = Self.interval
  /// Time at which a request is allowed for which no saved one is left: each takes ``interval``.
  private var usedUntil: MediaTime?
  private var lastRequest: MediaTime?

  /// Records a keyframe: the next request is another one.
  mutating func handleKeyframe() { self.lastRequest = nil }

  /// Counts a request, if it is within the limit.
  ///
  /// - Returns: Whether to request a keyframe.
  mutating func request(at now: MediaTime) -> Bool {
    if let lastRequest, now - lastRequest < Self.repetitionInterval { return false }
    let start = max(self.usedUntil ?? now, now)
    guard start - now < self.interval * Int64(Self.maximumSaved) else { return false }
    self.usedUntil = start + self.interval
    self.lastRequest = now
    return true
  }
}
