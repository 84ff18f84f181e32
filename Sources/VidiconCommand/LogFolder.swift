import Media

/// Lines of a log, of which equal ones are folded: the first three of a minute are shown, and once it is over the number of the others.
///
/// A camera that is unplugged and a client that connects again can each write a line a second, for days. Lines are equal where their texts
/// are, so that nothing is lost but the times of those that are counted.
struct LogFolder {
  /// A line with its priority.
  struct Line: Hashable {
    var text: String
    var priority: LogPriority
  }

  /// Number of equal lines that are shown within ``interval``.
  static let maximumShownCount = 3
  /// Time in which equal lines are counted, from the first one on.
  static let interval = MediaDuration.seconds(60)
  /// Maximum number of different lines that are remembered; the oldest is dropped for a further one.
  static let maximumLineCount = 64

  private struct Entry {
    var line: Line
    let start: MediaTime
    var shownCount = 1
    var foldedCount = 0

    /// The line with the number of those that were not shown; nil where there are none.
    var summary: Line? {
      guard self.foldedCount > 0 else { return nil }
      var line = self.line
      line.text += " (\(self.foldedCount) more like this)"
      return line
    }
  }

  /// The oldest first.
  private var entries: [Entry] = []

  /// Adds a line.
  ///
  /// - Returns: The lines to show now: numbers of earlier ones, and this one unless it is folded.
  mutating func add(_ line: Line, at now: MediaTime) -> [Line] {
    var shown = self.due(at: now)
    if let index = self.entries.firstIndex(where: { $0.line == line }) {
      guard self.entries[index].shownCount < Self.maximumShownCount else {
        self.entries[index].foldedCount += 1
        return shown
      }
      self.entries[index].shownCount += 1
    } else {
      if self.entries.count >= Self.maximumLineCount {
        shown += [self.entries.removeFirst().summary].compactMap { $0 }
      }
      self.entries.append(Entry(line: line, start: now))
    }
    return shown + [line]
  }

  /// The lines whose time is over, with the number of those that were not shown.
  mutating func due(at now: MediaTime) -> [Line] {
    let count = self.entries.prefix { now - $0.start >= Self.interval }.count
    defer { self.entries.removeFirst(count) }
    return self.entries.prefix(count).compactMap(\.summary)
  }

  /// The numbers of all lines that were not shown, at the end of the program.
  mutating func flush() -> [Line] {
    defer { self.entries = [] }
    return self.entries.compactMap(\.summary)
  }
}
