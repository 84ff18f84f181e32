#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Reads from a file descriptor in a way that another thread can end.
///
/// It reads no byte more than asked for, so that whoever reads on later, or the next reader, finds all of them. Used by
/// one thread at a time, but for ``interrupt()``.
final class PipeReader: Sendable {
  /// What became of a read.
  enum Outcome: Hashable {
    /// All bytes have been read.
    case complete
    /// The input has ended before.
    case end
    /// The read was interrupted before.
    case interrupted
    /// The system failed, with `errno`.
    case failed(Int32)
  }

  private let descriptor: Int32
  /// The ends of a pipe that is written to once, to wake the reader.
  private let wake: (read: Int32, write: Int32)

  /// - Parameter descriptor: What to read from; it stays open.
  init(descriptor: Int32, source: String) throws(CaptureError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw CaptureError(
        .failed, source: source, cause: systemMessage(errno), nextStep: "raise the limit of open files (ulimit -n)")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    self.descriptor = descriptor
    self.wake = (ends[0], ends[1])
  }

  deinit {
    close(self.wake.read)
    close(self.wake.write)
  }

  /// Ends the read that waits, and all later ones.
  func interrupt() {
    var byte: UInt8 = 0
    _ = write(self.wake.write, &byte, 1)
  }

  /// Reads until a buffer is full.
  ///
  /// - Parameter count: The bytes that have been read, also when it was not all.
  func read(into buffer: UnsafeMutableRawBufferPointer, count: inout Int) -> Outcome {
    count = 0
    while count < buffer.count {
      var descriptors = [
        pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: self.wake.read, events: Int16(POLLIN), revents: 0),
      ]
      if poll(&descriptors, 2, -1) < 0 {
        if errno == EINTR { continue }
        return .failed(errno)
      }
      if descriptors[1].revents != 0 { return .interrupted }
      if descriptors[0].revents & Int16(POLLNVAL) != 0 { return .failed(EBADF) }
      #if canImport(Darwin)
      let size = Darwin.read(self.descriptor, buffer.baseAddress! + count, buffer.count - count)
      #else
      let size = Glibc.read(self.descriptor, buffer.baseAddress! + count, buffer.count - count)
      #endif
      if size > 0 {
        count += size
      } else if size == 0 {
        return .end
      } else if errno != EINTR && errno != EAGAIN {
        return .failed(errno)
      }
    }
    return .complete
  }
}
