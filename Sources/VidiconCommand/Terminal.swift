import Synchronization

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Standard output and standard error, line by line.
enum Terminal {
  /// Whether standard output is read by a person.
  static let isInteractive = isatty(STDOUT_FILENO) != 0

  /// Whether the last line of standard output is one that the next replaces.
  private static let hasStatusLine = Mutex(false)

  /// Writes a line to standard output.
  static func print(_ line: String) {
    self.hasStatusLine.withLock { hasStatusLine in
      self.write((hasStatusLine ? "\r\u{1B}[K" : "") + line + "\n", to: STDOUT_FILENO)
      hasStatusLine = false
    }
  }

  /// Writes a line in place of the last status line; to be called on a terminal only.
  static func showStatus(_ line: String) {
    self.hasStatusLine.withLock { hasStatusLine in
      self.write("\r\u{1B}[K" + line, to: STDOUT_FILENO)
      hasStatusLine = true
    }
  }

  /// Writes a line to standard error, behind the program's name.
  static func warn(_ message: String) {
    self.hasStatusLine.withLock { hasStatusLine in
      if hasStatusLine { self.write("\r\u{1B}[K", to: STDOUT_FILENO) }
      hasStatusLine = false
      self.write("vidicon: \(self.oneLine(message))\n", to: STDERR_FILENO)
    }
  }

  /// Writes a line to standard error and ends the program.
  static func fail(_ message: String, status: Int32) -> Never {
    self.warn(message)
    exit(status)
  }

  private static func oneLine(_ message: String) -> String {
    message.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        #if canImport(Darwin)
        let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
        #else
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        #endif
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }  // Nobody reads any more; what the program does goes on.
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }
}
