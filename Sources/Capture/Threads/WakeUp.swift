internal import Media
internal import Synchronization

#if canImport(CALSA)
// The system's library of sound includes the header of poll, too, and which of both owns it depends on the build.
internal import CALSA
#endif
#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Wakes a thread that waits for a file descriptor: to look at something else, or to end.
final class WakeUp: Sendable {
  /// What a wait ended with.
  enum Outcome: Hashable {
    /// The descriptor can be read, or is broken, which reading tells.
    ///
    /// - Parameter events: What `poll` says of it, not 0.
    case ready(events: Int16)
    /// The time has come.
    case timedOut
    /// Somebody has called ``WakeUp/wake()``.
    case woken
    /// The thread is to end.
    case stopped
  }

  private let ends: (read: Int32, write: Int32)
  private let stopped = Mutex(false)

  /// - Throws: ``CaptureError`` when there is no file descriptor left.
  init(source: String) throws(CaptureError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw CaptureError(
        .failed, source: source, cause: systemMessage(errno), nextStep: "raise the limit of open files (ulimit -n)")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    self.ends = (ends[0], ends[1])
  }

  deinit {
    close(self.ends.read)
    close(self.ends.write)
  }

  /// Whether the thread is to end.
  var isStopped: Bool {
    self.stopped.withLock { $0 }
  }

  /// Ends the wait of now, and all later ones.
  func stop() {
    self.stopped.withLock { $0 = true }
    self.wake()
  }

  /// Ends the wait of now, or else the next one.
  func wake() {
    // A pipe that is full wakes as well.
    var byte: UInt8 = 0
    _ = write(self.ends.write, &byte, 1)
  }

  /// Waits.
  ///
  /// - Parameters:
  ///   - descriptor: What to wait for, or -1.
  ///   - deadline: When to give up; nil for never.
  func wait(for descriptor: Int32 = -1, until deadline: MediaTime?) -> Outcome {
    while !self.isStopped {
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
      if count > 0, descriptors.0.revents != 0 {
        self.drain()
        if self.isStopped { break }
        // Whoever returns looks at everything anyway.
        return descriptors.1.revents != 0 ? .ready(events: descriptors.1.revents) : .woken
      }
      if count > 0 { return .ready(events: descriptors.1.revents) }
      if count == 0, let deadline, StreamClock.system.now() >= deadline { return .timedOut }
    }
    return .stopped
  }

  private func drain() {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
      while read(self.ends.read, bytes.baseAddress, bytes.count) == bytes.count {}
    }
  }
}
