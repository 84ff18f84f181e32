internal import Codecs
internal import Libc
internal import Media

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
