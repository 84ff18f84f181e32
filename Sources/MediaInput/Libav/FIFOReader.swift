internal import Codecs
internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A named pipe that is open for reading, with a writer. Reads of its descriptor do not block.
final class FIFOReader: Sendable {
  let descriptor: Int32

  /// Interval in which is looked whether the wait was interrupted, in milliseconds.
  private static let interval: Int32 = 100

  /// Opens the pipe, and waits until a writer has written.
  ///
  /// - Parameter interrupt: Ends the wait.
  /// - Throws: ``VidiconError`` when it cannot be opened, or the wait was interrupted.
  init(path: String, interrupt: LibavInterrupt) throws(VidiconError) {
    // Without the flag, opening blocks until there is a writer.
    self.descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard self.descriptor >= 0 else { throw VidiconError(libav: -errno, source: NetworkSpecification.masked(path)) }
    var state = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
    while !interrupt.isCancelled {
      let count = poll(&state, 1, Self.interval)
      if count > 0 { return }
    }
    throw VidiconError(
      .failed, subject: NetworkSpecification.masked(path), cause: "the wait for a writer was interrupted",
      nextStep: "start again")
  }

  deinit { close(self.descriptor) }

  /// Whether a path is that of a named pipe.
  static func isFIFO(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }
}

/// A named pipe that is open for reading, and of which nothing is read: a program that writes to several pipes opens them one after the
/// other, each when the one before has a reader, and fills them at the same time.
package final class FIFOHold: Sendable {
  private let descriptor: Int32
  /// Bytes that are written before the writer waits: more than three seconds of uncompressed audio, in which another pipe is looked
  /// into for its tracks. Linux has 64 KiB by default.
  private static let byteCount: Int32 = 1 << 20

  /// Opens the pipe without waiting; nil when it cannot be opened.
  package init?(path: String) {
    self.descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard self.descriptor >= 0 else { return nil }
    #if !canImport(Darwin)
    // F_SETPIPE_SZ, which Swift's Glibc module lacks. In vain beyond the system's maximum, which is this by default.
    let command: Int32 = 1031
    _ = fcntl(self.descriptor, command, Self.byteCount)
    #endif
  }

  deinit { close(self.descriptor) }
}
