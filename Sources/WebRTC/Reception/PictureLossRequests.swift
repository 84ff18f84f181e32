package import Media

/// Decides when a publisher is sent a picture loss indication (PLI, RFC 4585 §6.3.1), which requests a keyframe. Pure: `now` is
/// an argument.
///
/// A request is repeated until a keyframe arrives; after three of them each time after twice the interval, since some senders
/// never respond. A budget bounds the requests of a bad path, where each keyframe may cause the next loss: one per second, with
/// a few saved.
package struct PictureLossRequests: Sendable {
  /// Minimum time between two requests.
  package static let minimumInterval = MediaDuration.milliseconds(500)
  /// Maximum time between two requests while a keyframe is needed.
  package static let maximumInterval = MediaDuration.seconds(4)
  /// Time in which the budget grows by one request.
  package static let refillInterval = MediaDuration.seconds(1)
  /// Number of requests after the minimum interval: one of them may be lost, or the keyframe.
  private static let freeRepetitions = 3
  /// Maximum number of requests that are saved.
  package static let maximumCredit = 5

  /// Whether a keyframe is needed and has not arrived.
  package private(set) var isNeeded = false
  /// Number of keyframe requests that were sent.
  package private(set) var count = 0

  private var earliest: MediaTime?
  private var last: MediaTime?
  private var interval = Self.minimumInterval
  /// Number of requests since the last keyframe.
  private var unanswered = 0
  /// Time at which the budget will be full again.
  private var full: MediaTime?

  /// Creates the state of a path without a need for a keyframe.
  package init() {}

  /// Records that decoding cannot go on without a keyframe.
  ///
  /// - Parameter earliest: Time before which nothing is requested, since a keyframe may be on its way; nil for at once.
  package mutating func need(from earliest: MediaTime? = nil) {
    self.earliest = self.isNeeded ? self.earliest.flatMap { own in earliest.map { min(own, $0) } } : earliest
    self.isNeeded = true
  }

  /// Records a keyframe that can be decoded: no other is needed.
  package mutating func handleKeyframe() {
    self.isNeeded = false
    self.interval = Self.minimumInterval
    self.unanswered = 0
  }

  /// Time at which ``request(roundTrip:at:)`` may return true; nil while no keyframe is needed.
  package func nextDeadline(roundTrip: MediaDuration) -> MediaTime? {
    guard self.isNeeded else { return nil }
    var due = self.earliest ?? MediaTime(nanoseconds: .min)
    if let last { due = max(due, last + max(self.interval, roundTrip * 2)) }
    if let full { due = max(due, full - Self.refillInterval * Int64(Self.maximumCredit - 1)) }
    return due
  }

  /// Returns whether to send a request now, and counts it.
  package mutating func request(roundTrip: MediaDuration, at now: MediaTime) -> Bool {
    guard let due = self.nextDeadline(roundTrip: roundTrip), due <= now else { return false }
    self.unanswered += 1
    if self.unanswered > Self.freeRepetitions { self.interval = min(self.interval * 2, Self.maximumInterval) }
    self.full = max(self.full ?? now, now) + Self.refillInterval
    self.last = now
    self.count += 1
    return true
  }
}
