package import Media

/// The maximum of an event loop's lag in the last 10 to 20 s. Pure: `now` is an argument.
package struct LagMaximum: Sendable {
  /// Duration for which a maximum is kept, once or twice.
  private static var window: MediaDuration { .seconds(10) }

  /// Maximum lag in the current and the last window.
  private var lag = (current: MediaDuration.zero, last: MediaDuration.zero)
  private var windowStart = MediaTime.zero

  /// Creates a measure that has recorded no lag.
  package init() {}

  /// Includes a lag in the maximum.
  package mutating func record(_ lag: MediaDuration, at now: MediaTime) {
    self.advance(to: now)
    self.lag.current = max(self.lag.current, lag)
  }

  /// Returns the maximum lag in the last 10 to 20 s; zero without one.
  package mutating func value(at now: MediaTime) -> MediaDuration {
    self.advance(to: now)
    return max(self.lag.current, self.lag.last)
  }

  private mutating func advance(to now: MediaTime) {
    guard now - self.windowStart >= Self.window else { return }
    self.lag.last = now - self.windowStart < Self.window * 2 ? self.lag.current : .zero
    self.lag.current = .zero
    self.windowStart = now
  }
}
