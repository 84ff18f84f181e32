import Libc
import Media
import Threading

/// Writes lines to a file descriptor on a thread of its own, so that a reader that stalls never blocks the program.
///
/// A pipe guarantees room for 4096 bytes only; a longer line, or a pipe without a reader, would block the writer. Lines
/// beyond ``maximumQueuedBytes`` are dropped whole and counted.
final class LineWriter: Sendable {
  /// Lines of standard output for programs.
  static let standardOutput = LineWriter(STDOUT_FILENO)

  /// Lines of the log.
  static let standardError = LineWriter(STDERR_FILENO) { count in
    Terminal.line(
      of: LogEvent(
        .linesDropped, fields: ["count": "\(count)"],
        message: "\(count) \(count == 1 ? "line" : "lines") of this log could not be written: the reader was too slow"))
  }

  /// Maximum number of bytes that wait for the reader: some hundred lines of status.
  static let maximumQueuedBytes = 1 << 20

  private struct State {
    var lines: [String] = []
    var byteCount = 0
    var droppedCount = 0
    /// The part of ``droppedCount`` that has a line.
    var reportedCount = 0
    /// Whether the thread is writing dequeued lines.
    var isWriting = false
    var hasThread = false
    /// Whether the reading end of the pipe is closed; further lines are then discarded.
    var isBroken = false
  }

  private let descriptor: Int32
  private let dropReport: (@Sendable (Int) -> String?)?
  private let state = Monitor(State())

  /// - Parameters:
  ///   - descriptor: An open file descriptor, not closed by the writer.
  ///   - dropReport: Returns a line about a number of lines that were dropped, written once the reader reads again; nil for none.
  init(_ descriptor: Int32, dropReport: (@Sendable (Int) -> String?)? = nil) {
    self.descriptor = descriptor
    self.dropReport = dropReport
  }

  /// Number of lines dropped because the reader was too slow.
  var droppedCount: Int {
    self.state.read { $0.droppedCount }
  }

  /// Enqueues a line without its line feed; never blocks.
  func write(_ line: String) {
    let needsThread = self.state.withLock { state in
      guard !state.isBroken else { return false }
      let count = line.utf8.count + 1
      guard state.byteCount + count <= Self.maximumQueuedBytes else {
        state.droppedCount += 1
        return false
      }
      state.lines.append(line + "\n")
      state.byteCount += count
      defer { state.hasThread = true }
      return !state.hasThread
    }
    guard needsThread else { return }
    let isStarted = WorkerThread.startDetached(named: "output") { [self] in self.run() }
    // Lines stay queued where no thread can be started, and the next line starts one.
    if !isStarted { self.state.withLock { $0.hasThread = false } }
  }

  /// Waits until every line is written or the reader has gone.
  ///
  /// - Parameter limit: Maximum time to wait; nil for no limit.
  /// - Returns: Whether no line waits any more.
  @discardableResult
  func flush(within limit: MediaDuration?) -> Bool {
    let deadline = limit.map { StreamClock.system.now() + $0 }
    return self.state.wait(until: deadline) { state in
      state.isBroken || (state.lines.isEmpty && !state.isWriting) || !state.hasThread ? true : nil
    } ?? false
  }

  /// Waits until every line is written or the reader has gone, as long as the reader reads.
  ///
  /// - Parameter limit: Time after which a reader that has left no room for more is not waited for any longer.
  func flush(unlessStalledFor limit: MediaDuration) {
    while !self.flush(within: limit), self.acceptsBytes {}
  }

  /// Whether the descriptor accepts bytes at once.
  private var acceptsBytes: Bool {
    var room = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&room, 1, 0) != 0
  }

  private func run() {
    while true {
      let taken = self.state.take { state -> (lines: [String], droppedCount: Int)? in
        guard !state.lines.isEmpty else { return nil }
        defer {
          (state.lines, state.byteCount, state.isWriting) = ([], 0, true)
          state.reportedCount = state.droppedCount
        }
        return (lines: state.lines, droppedCount: state.droppedCount - state.reportedCount)
      }
      guard let taken else { continue }
      let report = taken.droppedCount > 0 ? self.dropReport?(taken.droppedCount) : nil
      let isWritten = Self.write(taken.lines.joined() + (report.map { $0 + "\n" } ?? ""), to: self.descriptor)
      self.state.withLock { state in
        state.isWriting = false
        if !isWritten { (state.isBroken, state.lines, state.byteCount) = (true, [], 0) }
      }
      if !isWritten { return }
    }
  }

  /// Blocks until the text is written; false when the reader has gone.
  private static func write(_ text: String, to descriptor: Int32) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        #if canImport(Darwin)
        let count = Darwin.write(descriptor, rest.baseAddress, rest.count)
        #else
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        #endif
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
          // Another process has made the pipe non-blocking.
          var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&room, 1, -1)
          continue
        }
        guard count > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      return true
    }
  }
}
