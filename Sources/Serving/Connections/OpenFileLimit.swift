internal import Libc

/// The limit of open files of this process, `RLIMIT_NOFILE`.
package enum OpenFileLimit {
  /// Maximum number of connections whatever the limit of open files is: each takes some 20 kB with its buffers, 10,000 take
  /// 200 MB.
  package static let maximumUsefulConnections = 10_000
  /// Descriptors for everything else: cameras, recordings, downloads, sources, sockets on their way to their server.
  static let reserve = 128

  /// Maximum number of connections that the current limit of open files leaves room for, 1 to
  /// ``maximumUsefulConnections``.
  package static var maximumConnections: Int {
    var limit = rlimit()
    #if canImport(Darwin)
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #else
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #endif
    return Self.maximumConnections(openFiles: result == 0 ? Int(clamping: limit.rlim_cur) : 1024)
  }

  /// - Parameter openFiles: The limit of open files. Half of it is reserved when it is below 256.
  static func maximumConnections(openFiles: Int) -> Int {
    max(1, min(Self.maximumUsefulConnections, openFiles - min(Self.reserve, openFiles / 2)))
  }
}
