internal import Foundation
package import Media

/// Limit of each wait of a test for what will happen, five minutes: a busy machine does not reach it, and a test that hangs ends.
package enum WaitLimit {
  /// The limit in seconds.
  package static let seconds = 300

  /// The limit as a duration of the program's clock.
  package static let duration = MediaDuration.seconds(300)

  /// Lets reads and writes of a socket that blocks fail after the limit, and `accept` of one that listens.
  package static func apply(to socket: CInt) {
    var limit = timeval(tv_sec: self.seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
  }
}
