/// Bound of events in time: as many as fit into an interval at once, then as many in each interval.
package struct TokenBucket: Sendable {
  /// Number of events in an interval.
  private let rate: Int
  /// Nanoseconds of the interval.
  private let interval: Int64
  /// Nanoseconds of the interval that are unused.
  private var unused: Int64
  private var last: MediaTime?

  /// - Parameters:
  ///   - rate: Events in an interval, at most a million.
  ///   - interval: A second by default, at most an hour.
  package init(rate: Int, per interval: MediaDuration = .seconds(1)) {
    self.rate = rate
    self.interval = interval.nanoseconds
    self.unused = interval.nanoseconds
  }

  /// Counts events, all or none.
  ///
  /// - Returns: Whether they are within the bound.
  package mutating func take(_ count: Int = 1, at now: MediaTime) -> Bool {
    self.refill(at: now)
    let cost = self.cost(of: count)
    guard cost <= self.unused else { return false }
    self.unused -= cost
    return true
  }

  /// Counts as many events as are within the bound.
  ///
  /// - Returns: Their number, at most `count`.
  package mutating func takeAvailable(upTo count: Int, at now: MediaTime) -> Int {
    self.refill(at: now)
    let taken = min(count, Int(self.unused * Int64(self.rate) / self.interval))
    self.unused -= self.cost(of: taken)
    return taken
  }

  private mutating func refill(at now: MediaTime) {
    if let last, now > last { self.unused = min(self.interval, self.unused + (now - last).nanoseconds) }
    self.last = max(self.last ?? now, now)
  }

  private func cost(of count: Int) -> Int64 { Int64(count) * self.interval / Int64(self.rate) }
}
