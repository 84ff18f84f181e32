import Libc
import Serving

/// Facts about the limit of open files, of which each viewer is one.
struct OpenFileFacts: Sendable {
  /// Limit of open files of this process, raised as far as the system allows it.
  var limit: Int

  /// Number of viewers below which a limit is reported: one for each browser of a household, and each has several connections.
  private static let comfortableViewers = 500

  /// One finding.
  var findings: [CheckFinding] {
    let subject = "open files"
    let connections = OpenFileLimit.maximumConnections(openFiles: self.limit)
    let text = "a limit of \(self.limit) leaves room for \(connections) connections of viewers at once"
    guard connections < Self.comfortableViewers else { return [.ok(subject, text)] }
    return [
      .warning(
        subject, "\(text); others wait or displace them",
        .advice("raise the hard limit (ulimit -Hn, or LimitNOFILE= of the service)"))
    ]
  }
}

extension OpenFileFacts {
  /// The limit of this process.
  static func ofProcess() -> OpenFileFacts {
    var limit = rlimit()
    #if canImport(Darwin)
    let resource = RLIMIT_NOFILE
    #else
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    let result = getrlimit(resource, &limit)
    return OpenFileFacts(limit: result == 0 ? Int(clamping: limit.rlim_cur) : 1024)
  }
}
