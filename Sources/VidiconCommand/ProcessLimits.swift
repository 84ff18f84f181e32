internal import CSystemCalls
internal import Libc

/// Limits of what this process uses of the system.
enum ProcessLimits {
  /// Raises the limit of open files to the hard limit. Each viewer is an open file, and the usual soft limit is 1024.
  static func raiseOpenFiles() {
    #if canImport(Darwin)
    let resource = RLIMIT_NOFILE
    let maximum = rlim_t(OPEN_MAX)
    #else
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let maximum = rlim_t(1_048_576)
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = min(limit.rlim_max, maximum)
    // On failure the lower limit stays.
    setrlimit(resource, &limit)
  }

  /// Keeps the system from backing memory with pages of 2 MB, which libx264 requests for each of its large buffers: a frame of
  /// 720p fills two thirds of one, and all of the page is resident. The encoder needs some 2% more processor time for
  /// 6 MB less of memory.
  static func avoidHugePages() {
    vidicon_avoid_huge_pages()
  }
}

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
