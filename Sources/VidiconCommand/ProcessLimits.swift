#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Resource limits of this process.
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
}
