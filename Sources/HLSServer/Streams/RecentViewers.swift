internal import Media

/// Counts viewers of a protocol without connections (HLS): distinct pairs of client address and `User-Agent` with a recent
/// request.
struct RecentViewers {
  /// Maximum number of counted viewers; further ones are ignored.
  static let maximumCount = 100_000

  /// Time after the last request during which a viewer was counted the last time.
  private var window = MediaDuration.seconds(10)
  private var lastRequests: [Int: MediaTime] = [:]
  private var sizeToPruneAt = 64
  private var lastPruning = MediaTime.zero

  /// Records a request.
  mutating func note(address: String, userAgent: String, at now: MediaTime) {
    var hasher = Hasher()
    hasher.combine(address)
    hasher.combine(userAgent)
    let key = hasher.finalize()
    if self.lastRequests.count >= self.sizeToPruneAt, self.lastRequests[key] == nil {
      // At the limit, at most one pass per second: a pass for each new viewer would dominate the cost.
      if self.lastRequests.count < Self.maximumCount || now - self.lastPruning >= .seconds(1) { self.prune(at: now) }
      self.sizeToPruneAt = min(Self.maximumCount, max(64, 2 * self.lastRequests.count))
      guard self.lastRequests.count < Self.maximumCount else { return }
    }
    self.lastRequests[key] = now
  }

  /// Number of viewers at `now`.
  ///
  /// - Parameter window: Time after the last request during which a viewer is counted.
  mutating func count(at now: MediaTime, window: MediaDuration) -> Int {
    self.window = window
    self.prune(at: now)
    return self.lastRequests.count
  }

  /// Whether the last request of any viewer is in `start...end`.
  func hasRequest(from start: MediaTime, to end: MediaTime) -> Bool {
    self.lastRequests.values.contains { $0 >= start && $0 <= end }
  }

  private mutating func prune(at now: MediaTime) {
    self.lastPruning = now
    self.lastRequests = self.lastRequests.filter { [window = self.window] in now - $0.value < window }
  }
}
