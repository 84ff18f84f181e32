/// How long to wait before the next try: one second, then twice as long each time, at most half a minute.
struct RetryDelay: Hashable, Sendable {
  static let first: Duration = .seconds(1)
  static let longest: Duration = .seconds(30)

  private var following = Self.first

  /// The time to wait now.
  mutating func next() -> Duration {
    defer { self.following = min(self.following * 2, Self.longest) }
    return self.following
  }
}
