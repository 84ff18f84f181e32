#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// What the system lets this process have.
enum ProcessLimits {
  /// Allows as many open files as the system does without privileges: each viewer is one, and the usual limit is 1024.
  static func raiseOpenFiles() {
    #if canImport(Darwin)
    let resource = RLIMIT_NOFILE
    let most = rlim_t(OPEN_MAX)
    #else
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    let most = rlim_t(1_048_576)
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = min(limit.rlim_max, most)
    // Where it is refused, the lower limit goes on to hold.
    setrlimit(resource, &limit)
  }
}
