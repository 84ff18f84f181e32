import Media

/// Events of a log, of which equal ones are folded: the first three of a minute are shown, and once it is over the number of the others.
///
/// A camera that is unplugged and a client that connects again can each write a line a second, for days. Events are equal where nothing but
/// their measures differs, so that nothing else is lost but the times of those that are counted.
struct LogFolder {
  /// Number of equal events that are shown within ``interval``.
  static let maximumShownCount = 3
  /// Time in which equal events are counted, from the first one on.
  static let interval = MediaDuration.seconds(60)
  /// Maximum number of different events that are remembered; the oldest is dropped for a further one.
  static let maximumLineCount = 64

  private struct Entry {
    let event: LogEvent
    let start: MediaTime
    var shownCount = 1
    var foldedCount = 0

    /// The event with the number of those that were not shown, without measures, which are those of one; nil where there are none.
    var summary: LogEvent? {
      guard self.foldedCount > 0 else { return nil }
      var event = self.event
      event.measures = []
      event.foldedCount = self.foldedCount
      return event
    }
  }

  /// The oldest first.
  private var entries: [Entry] = []

  /// Adds an event.
  ///
  /// - Returns: The events to show now: numbers of earlier ones, and this one unless it is folded.
  mutating func add(_ event: LogEvent, at now: MediaTime) -> [LogEvent] {
    var shown = self.due(at: now)
    if let index = self.entries.firstIndex(where: { $0.event.isLike(event) }) {
      guard self.entries[index].shownCount < Self.maximumShownCount else {
        self.entries[index].foldedCount += 1
        return shown
      }
      self.entries[index].shownCount += 1
    } else {
      if self.entries.count >= Self.maximumLineCount {
        shown += [self.entries.removeFirst().summary].compactMap { $0 }
      }
      self.entries.append(Entry(event: event, start: now))
    }
    return shown + [event]
  }

  /// The events whose time is over, with the number of those that were not shown.
  mutating func due(at now: MediaTime) -> [LogEvent] {
    let count = self.entries.prefix { now - $0.start >= Self.interval }.count
    defer { self.entries.removeFirst(count) }
    return self.entries.prefix(count).compactMap(\.summary)
  }

  /// The numbers of all events that were not shown, at the end of the program.
  mutating func flush() -> [LogEvent] {
    defer { self.entries = [] }
    return self.entries.compactMap(\.summary)
  }
}
