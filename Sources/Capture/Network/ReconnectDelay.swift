internal import Media

/// How long to wait before the next attempt to connect: 0.5 s at first, twice as long each time, 10 s at most; a fifth more
/// or less, so that the viewers of a server that was started again do not all come at once.
struct ReconnectDelay: Hashable {
  private var base = MediaDuration.milliseconds(500)

  /// The next one.
  ///
  /// - Parameter jitter: -1 to 1.
  mutating func next(jitter: Double) -> MediaDuration {
    defer { self.base = min(self.base * 2, .seconds(10)) }
    let jitter = min(max(jitter, -1), 1)
    return self.base + MediaDuration(nanoseconds: Int64(Double(self.base.nanoseconds) / 5 * jitter))
  }
}
