internal import Media

/// Counts those who asked for something not long ago: HLS has no connections to count, so a viewer is who asks from an
/// address with a program (`User-Agent`).
struct RecentViewers {
  /// How long after its last request a viewer is one.
  static let window = MediaDuration.seconds(10)
  /// Beyond this many, newer ones are not counted.
  static let most = 100_000

  private var lastRequests: [Int: MediaTime] = [:]
  private var sizeToPruneAt = 64
  private var lastPruning = MediaTime.zero

  /// Notes a request.
  mutating func note(address: String, program: String, at now: MediaTime) {
    var hasher = Hasher()
    hasher.combine(address)
    hasher.combine(program)
    let key = hasher.finalize()
    if self.lastRequests.count >= self.sizeToPruneAt, self.lastRequests[key] == nil {
      // Full of viewers that are all new, looking through them for each one more would be what takes the time.
      if self.lastRequests.count < Self.most || now - self.lastPruning >= .seconds(1) { self.prune(at: now) }
      self.sizeToPruneAt = min(Self.most, max(64, 2 * self.lastRequests.count))
      guard self.lastRequests.count < Self.most else { return }
    }
    self.lastRequests[key] = now
  }

  /// The viewers now.
  mutating func count(at now: MediaTime) -> Int {
    self.prune(at: now)
    return self.lastRequests.count
  }

  /// Whether somebody's last request came in a span, both ends included.
  func hasRequest(from start: MediaTime, to end: MediaTime) -> Bool {
    self.lastRequests.values.contains { $0 >= start && $0 <= end }
  }

  private mutating func prune(at now: MediaTime) {
    self.lastPruning = now
    self.lastRequests = self.lastRequests.filter { now - $0.value < Self.window }
  }
}
