internal import Media

/// Bound of events in time: as many as fit into a second at once, then as many in each second.
struct TokenBucket: Sendable {
  /// Number of events in a second.
  let rate: Int
  /// Nanoseconds of the rate that are unused, up to a second.
  private var unused = Int64(1_000_000_000)
  private var last: MediaTime?

  /// - Parameter rate: Events in a second, at most a million.
  init(rate: Int) { self.rate = rate }

  /// Counts events, all or none.
  ///
  /// - Returns: Whether they are within the bound.
  mutating func take(_ count: Int = 1, at now: MediaTime) -> Bool {
    self.refill(at: now)
    let cost = self.cost(of: count)
    guard cost <= self.unused else { return false }
    self.unused -= cost
    return true
  }

  /// Counts as many events as are within the bound.
  ///
  /// - Returns: Their number, at most `count`.
  mutating func takeAvailable(upTo count: Int, at now: MediaTime) -> Int {
    self.refill(at: now)
    let taken = min(count, Int(self.unused * Int64(self.rate) / 1_000_000_000))
    self.unused -= self.cost(of: taken)
    return taken
  }

  private mutating func refill(at now: MediaTime) {
    if let last, now > last { self.unused = min(1_000_000_000, self.unused + (now - last).nanoseconds) }
    self.last = max(self.last ?? now, now)
  }

  private func cost(of count: Int) -> Int64 { Int64(count) * 1_000_000_000 / Int64(self.rate) }
}
