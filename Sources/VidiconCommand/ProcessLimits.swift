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
