import Foundation
import Libc
import Media
import Synchronization
import Threading

/// Line-based output to standard output and standard error.
enum Terminal {
  /// Whether standard output is a terminal.
  static let isInteractive = isatty(STDOUT_FILENO) != 0

  /// Whether standard input is a terminal.
  static let isInputInteractive = isatty(STDIN_FILENO) != 0

  /// Size of the terminal in characters; nil when standard output is not a terminal.
  static var size: (columns: Int, rows: Int)? {
    var size = winsize()
    guard self.isInteractive, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Number of rows at the end of the output that the next status replaces.
  private static let statusRows = Mutex(0)

  /// Writes a line to standard output.
  static func print(_ line: String) {
    self.statusRows.withLock { rows in
      self.write(self.erase(&rows) + line + "\n", to: STDOUT_FILENO)
    }
  }

  /// Replaces the last status; for terminals only. With autowrap off (DECAWM), the terminal truncates rows that are too wide,
  /// so that each takes one row.
  static func showStatus(_ lines: [String]) {
    self.statusRows.withLock { rows in
      let text = lines.joined(separator: "\r\n")
      self.write(self.erase(&rows) + "\u{1B}[?7l" + text + "\u{1B}[?7h", to: STDOUT_FILENO)
      rows = lines.count
    }
  }

  /// Whether standard error is the journal's.
  private static let isJournal = LogPriority.isJournal(
    ProcessInfo.processInfo.environment["JOURNAL_STREAM"], descriptor: STDERR_FILENO)

  /// The lines of standard error that are counted instead of shown.
  private static let folder = Mutex(LogFolder())

  /// Writes a line to standard error: prefixed by the program's name, or for the journal, which adds that itself, by its priority. Equal lines
  /// are folded.
  static func warn(_ message: String, priority: LogPriority = .warning) {
    let line = LogFolder.Line(text: self.oneLine(message), priority: priority)
    self.writeErrors { $0.add(line, at: StreamClock.system.now()) }
  }

  /// Writes how many lines were not shown, once their time is over; called each second.
  static func showFolded() {
    self.writeErrors { $0.due(at: StreamClock.system.now()) }
  }

  private static func writeErrors(_ fold: (inout LogFolder) -> [LogFolder.Line]) {
    self.statusRows.withLock { rows in
      let lines = self.folder.withLock { fold(&$0) }
      guard !lines.isEmpty else { return }
      self.write(self.erase(&rows), to: STDOUT_FILENO)
      for line in lines {
        let prefix = self.isJournal ? line.priority.mark : "vidicon: "
        self.write("\(prefix)\(line.text)\n", to: STDERR_FILENO)
      }
    }
  }

  /// The control sequence that erases the status; empty without a status.
  private static func erase(_ rows: inout Int) -> String {
    defer { rows = 0 }
    guard rows > 0 else { return "" }
    return (rows > 1 ? "\u{1B}[\(rows - 1)A" : "") + "\r\u{1B}[J"
  }

  /// Writes how many lines were not shown, and waits until queued JSON is written, at most ``flushLimit``: a reader that stalls does not
  /// delay the end.
  static func flush() {
    self.writeErrors { $0.flush() }
    LineWriter.standardOutput.flush(within: self.flushLimit)
  }

  private static let flushLimit = MediaDuration.milliseconds(300)

  /// Writes a line to standard error and ends the program.
  static func fail(_ message: String, status: Int32) -> Never {
    self.flush()
    let line = LogFolder.Line(text: self.oneLine(message), priority: .error)
    self.writeErrors { _ in [line] }
    exit(status)
  }

  /// The message with a space for each line end, and for each character that changes how a terminal shows others: control
  /// characters, C1 included, and marks of direction. Texts of clients are parts of messages.
  static func oneLine(_ message: String) -> String {
    var text = ""
    for part in message.split(whereSeparator: \.isNewline) {
      if !text.isEmpty { text += " " }
      text.unicodeScalars.append(
        contentsOf: part.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator: " "
          default: scalar
          }
        })
    }
    return text
  }

  /// Writes text at once, or drops it where the reader stalls.
  static func write(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      // A stalled reader must not block the program: output is dropped while the pipe is full. A pipe with any room has room
      // for a line.
      var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&room, 1, 0) != 0 else { return }
      while !rest.isEmpty {
        #if canImport(Darwin)
        let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
        #else
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        #endif
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }  // The reader has gone; the program continues.
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }
}

extension Terminal {
  /// Enqueues a value as a line of JSON to standard output; never blocks. ``LineWriter/droppedCount`` counts lines that a
  /// slow reader loses.
  static func print(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Safe because the values are strings, booleans and finite numbers, all of which JSON has.
    guard let data = try? encoder.encode(value) else { fatalError("a status line that is no JSON") }
    LineWriter.standardOutput.write(String(decoding: data, as: UTF8.self))
  }
}
