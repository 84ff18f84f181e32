/// Rate limit of the warning that no connection can be accepted; evaluated each second.
struct DescriptorWarning {
  /// Minimum number of seconds between two warnings.
  static let interval = 60

  private var failures = 0
  private var secondsSinceWarning = Self.interval

  /// The warning to show now; nil for none.
  ///
  /// - Parameter acceptFailures: Failures since the start.
  mutating func warning(acceptFailures: Int) -> String? {
    self.secondsSinceWarning += 1
    guard acceptFailures > self.failures, self.secondsSinceWarning > Self.interval else { return nil }
    self.failures = acceptFailures
    self.secondsSinceWarning = 0
    return "no file descriptor is left for new connections, which wait; raise the limit of open files (ulimit -n)"
  }
}
