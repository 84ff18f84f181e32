package import Media

/// Exponential back-off: each delay is twice the one before, up to a maximum.
package struct RetryBackoff: Hashable, Sendable {
  private let maximum: MediaDuration
  private var base: MediaDuration

  /// - Parameters:
  ///   - first: The first delay.
  ///   - maximum: Maximum delay before jitter is applied.
  package init(first: MediaDuration, maximum: MediaDuration) {
    self.base = first
    self.maximum = maximum
  }

  /// Returns the delay before the next attempt, and doubles the one after it.
  ///
  /// - Parameter jitter: -1 to 1, usually random, shortens or lengthens the delay by up to a fifth, so that the clients of a
  ///   restarted server do not all return at once; values outside are clamped.
  package mutating func next(jitter: Double = 0) -> MediaDuration {
    defer { self.base = min(self.base * 2, self.maximum) }
    let jitter = min(max(jitter, -1), 1)
    return self.base + MediaDuration(nanoseconds: Int64(Double(self.base.nanoseconds) / 5 * jitter))
  }
}
