import CSystemCalls
import Foundation
import Libc
import Media
import Synchronization
import Threading

/// Line-based output to standard output and standard error.
enum Terminal {
  /// Whether standard output is a terminal.
  static let isInteractive = isatty(STDOUT_FILENO) != 0

  /// Whether standard error is a terminal.
  private static let isErrorInteractive = isatty(STDERR_FILENO) != 0

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

  /// Whether there was a status, which only terminals get.
  private static let hadStatus = Atomic(false)

  /// Writes a line to standard output.
  static func print(_ line: String) {
    self.statusRows.withLock { rows in
      self.write(self.erase(&rows) + line + "\n", to: STDOUT_FILENO)
    }
  }

  /// Replaces the last status; for terminals only. With autowrap off (DECAWM), the terminal truncates rows that are too wide,
  /// so that each takes one row.
  static func showStatus(_ lines: [String]) {
    self.hadStatus.store(true, ordering: .relaxed)
    self.statusRows.withLock { rows in
      let text = lines.joined(separator: "\r\n")
      self.write(self.erase(&rows) + "\u{1B}[?7l" + text + "\u{1B}[?7h", to: STDOUT_FILENO)
      rows = lines.count
    }
  }

  /// Whether standard error is the journal's.
  private static let isJournal = LogPriority.isJournal(
    ProcessInfo.processInfo.environment["JOURNAL_STREAM"], descriptor: STDERR_FILENO)

  /// The events that are counted instead of shown.
  private static let folder = Mutex(LogFolder())

  /// The form that was given; nil where none was.
  private static let givenFormat = Mutex<LogFormat?>(nil)

  /// The form of the lines of standard error: prose, and for the journal keys and values, unless another one was given.
  static var logFormat: LogFormat { LogFormat(given: self.givenFormat.withLock { $0 }, isJournal: self.isJournal) }

  /// Sets the form of the lines of standard error from now on; nil for that of ``logFormat``.
  static func setLogFormat(_ format: LogFormat?) {
    self.givenFormat.withLock { $0 = format }
  }

  /// Writes a line to standard error, about what no other event is.
  static func warn(_ message: String, priority: LogPriority = .warning) {
    self.log(LogEvent(.message, priority, message: message))
  }

  /// Writes an event to standard error as one line, in the form of ``logFormat``. Equal events are folded.
  static func log(_ event: LogEvent) {
    assert(event.hasItsKeys, "\(event.name.rawValue) has other keys than docs/operate.md says")
    guard event.message != nil || self.logFormat == .keys else { return }
    self.writeErrors { $0.add(event, at: StreamClock.system.now()) }
  }

  /// Writes how many events were not shown, once their time is over; called each second.
  static func showFolded() {
    self.writeErrors { $0.due(at: StreamClock.system.now()) }
  }

  /// Writes events to standard error. Callable on event loops: a reader that stalls blocks nothing but the writer's thread, and a terminal
  /// only where it is stopped within a line.
  private static func writeErrors(_ fold: (inout LogFolder) -> [LogEvent]) {
    self.folder.withLock { folder in
      let lines = fold(&folder).compactMap { self.line(of: $0) }
      guard !lines.isEmpty else { return }
      guard self.isErrorInteractive || self.hadStatus.load(ordering: .relaxed) else {
        for line in lines { LineWriter.standardError.write(line) }
        return
      }
      self.statusRows.withLock { rows in
        self.write(self.erase(&rows), to: STDOUT_FILENO)
        for line in lines {
          if self.isErrorInteractive {
            self.write(line + "\n", to: STDERR_FILENO)
          } else {
            LineWriter.standardError.write(line)
          }
        }
      }
    }
  }

  /// The line of an event at this time; nil for one that people see elsewhere.
  static func line(of event: LogEvent) -> String? {
    self.logFormat.line(
      event, isJournal: self.isJournal, at: CalendarTime(unixTime: MediaDuration(nanoseconds: WallClock.system.now())))
  }

  /// The control sequence that erases the status; empty without a status.
  private static func erase(_ rows: inout Int) -> String {
    defer { rows = 0 }
    guard rows > 0 else { return "" }
    return (rows > 1 ? "\u{1B}[\(rows - 1)A" : "") + "\r\u{1B}[J"
  }

  /// Writes how many events were not shown, and waits until queued lines are written; a reader that stalls for ``flushLimit`` does not
  /// delay the end any longer.
  ///
  /// - Parameter ending: The last events of the log.
  static func flush(ending: [LogEvent] = []) {
    self.writeErrors { $0.flush() + ending }
    LineWriter.standardError.flush(unlessStalledFor: self.flushLimit)
    LineWriter.standardOutput.flush(unlessStalledFor: self.flushLimit)
  }

  private static let flushLimit = MediaDuration.milliseconds(300)

  /// Writes a line to standard error and ends the program.
  static func fail(_ message: String, status: Int32) -> Never {
    self.flush(ending: [LogEvent(.failed, .error, message: message)])
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

extension Terminal {
  /// Reads a line of standard input, which is not shown where it is typed; nil at the end of the input. Ctrl-C ends the program.
  ///
  /// - Parameter prompt: The question, for a terminal.
  static func readSecret(_ prompt: String) -> String? {
    guard self.isInputInteractive else { return readLine(strippingNewline: true) }
    // Before the question, so that the beginning of an answer is not shown either.
    guard vidicon_secret_begin() else { return nil }
    defer {
      vidicon_secret_end()
      // The line break of the Enter key, which was not shown.
      self.write("\n", to: STDERR_FILENO)
    }
    self.write("\(prompt): ", to: STDERR_FILENO)
    return readLine(strippingNewline: true)
  }
}
