internal import Libc
package import Media
internal import Synchronization

/// Interrupts a thread that waits for a file descriptor (the self-pipe technique).
package final class WakePipe: Sendable {
  /// The reason why a wait ended.
  package enum Outcome: Hashable {
    /// The descriptor is readable, or failed, which reading reports.
    ///
    /// - Parameter events: The `revents` of `poll`, not 0.
    case ready(events: Int16)
    /// The deadline has passed.
    case timedOut
    /// ``WakePipe/wake()`` was called.
    case woken
    /// ``WakePipe/stop()`` was called.
    case stopped
  }

  private let ends: (read: Int32, write: Int32)
  private let stopped = Mutex(false)

  /// - Parameter source: The source on whose behalf the thread waits, for the error message.
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the process has no file descriptor left.
  package init(source: String) throws(VidiconError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw VidiconError(
        .failed, subject: source, cause: systemErrorMessage(errno),
        nextStep: "raise the limit of open files (ulimit -n)")
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

  /// Whether ``stop()`` was called; never false again.
  package var isStopped: Bool {
    self.stopped.withLock { $0 }
  }

  /// Ends the current wait and all later ones.
  package func stop() {
    self.stopped.withLock { $0 = true }
    self.wake()
  }

  /// Ends the current wait, or the next one when no thread waits.
  package func wake() {
    // A full pipe wakes as well, so a failed write loses nothing.
    var byte: UInt8 = 0
    _ = write(self.ends.write, &byte, 1)
  }

  /// Blocks until a descriptor is readable, a deadline passes, or another thread calls ``wake()`` or ``stop()``.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor to poll, or -1 for none.
  ///   - deadline: When to give up; nil to wait without limit.
  package func wait(for descriptor: Int32 = -1, until deadline: MediaTime?) -> Outcome {
    while !self.isStopped {
      var milliseconds: Int32 = -1
      if let deadline {
        let remaining = max(0, (deadline - StreamClock.system.now()).nanoseconds)
        milliseconds = Int32(clamping: (remaining + 999_999) / 1_000_000)
      }
      // `poll` ignores negative descriptors.
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
