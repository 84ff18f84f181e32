internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Wakes a thread that waits for a file descriptor, once and for good.
final class WakeUp: Sendable {
  /// What a wait ended with.
  enum Outcome: Hashable {
    /// The descriptor can be read, or is broken, which reading tells.
    case readable
    /// The time has come.
    case timedOut
    /// The thread is to end.
    case woken
  }

  private let ends: (read: Int32, write: Int32)

  /// - Throws: ``CaptureError`` when there is no file descriptor left.
  init(source: String) throws(CaptureError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw CaptureError(
        .failed, source: source, cause: systemMessage(errno), nextStep: "raise the limit of open files (ulimit -n)")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.ends = (ends[0], ends[1])
  }

  deinit {
    close(self.ends.read)
    close(self.ends.write)
  }

  /// Ends the wait of now, and all later ones.
  func wake() {
    var byte: UInt8 = 0
    _ = write(self.ends.write, &byte, 1)
  }

  /// Waits.
  ///
  /// - Parameters:
  ///   - descriptor: What to wait for, or -1.
  ///   - deadline: When to give up; nil for never.
  func wait(for descriptor: Int32 = -1, until deadline: MediaTime?) -> Outcome {
    while true {
      var milliseconds: Int32 = -1
      if let deadline {
        let left = max(0, (deadline - StreamClock.system.now()).nanoseconds)
        milliseconds = Int32(clamping: (left + 999_999) / 1_000_000)
      }
      // A negative descriptor is passed over.
      var descriptors = (
        pollfd(fd: self.ends.read, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      )
      let count = withUnsafeMutableBytes(of: &descriptors) {
        poll($0.baseAddress?.assumingMemoryBound(to: pollfd.self), 2, milliseconds)
      }
      if descriptors.0.revents != 0 { return .woken }
      if count > 0 { return .readable }
      if count == 0, let deadline, StreamClock.system.now() >= deadline { return .timedOut }
    }
  }
}
