internal import Libc
internal import Media
internal import Threading

/// Reads from a file descriptor; another thread can interrupt a read.
///
/// Reads no byte ahead, so that a later reader of the descriptor misses none. Used by one thread at a time, except
/// ``interrupt()``.
final class PipeReader: Sendable {
  /// Result of a read.
  enum Outcome: Hashable {
    /// All bytes were read.
    case complete
    /// The input ended before.
    case end
    /// The read was interrupted before.
    case interrupted
    /// The system failed, with `errno`.
    case failed(Int32)
  }

  private let descriptor: Int32
  private let wake: WakePipe

  /// - Parameter descriptor: The descriptor to read from; not closed.
  init(descriptor: Int32, source: String) throws(VidiconError) {
    self.descriptor = descriptor
    self.wake = try WakePipe(source: source)
  }

  /// Interrupts the current read and all later ones.
  func interrupt() {
    self.wake.stop()
  }

  /// Whether ``interrupt()`` was called.
  var isInterrupted: Bool { self.wake.isStopped }

  /// Waits until there is something to read, or the end.
  ///
  /// - Returns: False where there is nothing up to the deadline.
  func wait(until deadline: MediaTime) -> Bool {
    if case .timedOut = self.wake.wait(for: self.descriptor, until: deadline) { false } else { true }
  }

  /// Reads until a buffer is full.
  ///
  /// - Parameter count: Set to the number of bytes read, also when the buffer is not full.
  func read(into buffer: UnsafeMutableRawBufferPointer, count: inout Int) -> Outcome {
    count = 0
    while count < buffer.count {
      switch self.wake.wait(for: self.descriptor, until: nil) {
      case .stopped: return .interrupted
      case .ready(let events) where events & Int16(POLLNVAL) != 0: return .failed(EBADF)
      case .ready, .timedOut, .woken: break
      }
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
