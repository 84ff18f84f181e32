import Media

/// Events of a log, of which equal ones are folded: the first three of a minute are shown, and once it is over the number of the others.
///
/// A camera that is unplugged and a client that connects again can each write a line a second, for days. Events are equal where nothing but
/// their measures differs, so that nothing else is lost but the times of those that are counted.
///
/// Events that clients cause have a budget of their own, and never displace others: beyond it they are counted together, in one line. The
/// newest state is always shown.
struct LogFolder {
  /// Number of equal events that are shown within ``interval``.
  static let maximumShownCount = 3
  /// Time in which equal events are counted, from the first one on.
  static let interval = MediaDuration.seconds(60)
  /// Maximum number of different events that are remembered, and of those that clients cause: of the former the oldest is dropped for a
  /// further one.
  static let maximumLineCount = 64
  /// Maximum number of events that clients cause and that are shown within ``interval``, and at once.
  static let maximumClientCount = 60

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
      event.address = event.network
      event.foldedCount = self.foldedCount
      return event
    }
  }

  /// The oldest first.
  private var entries: [Entry] = []
  /// Entries of events that clients cause, the oldest first.
  private var clientEntries: [Entry] = []
  private var clientBudget = TokenBucket(rate: Self.maximumClientCount, per: Self.interval)
  /// Events beyond the budget, of which no entry counts one like it, since the first of them; nil for none.
  private var unshown: (count: Int, start: MediaTime)?

  /// Adds an event.
  ///
  /// - Returns: The events to show now: numbers of earlier ones, and this one unless it is folded.
  mutating func add(_ event: LogEvent, at now: MediaTime) -> [LogEvent] {
    var shown = self.due(at: now)
    if event.name.isState { return shown + [event] }
    if event.name.isOfClients { return shown + (self.isShown(ofClients: event, at: now) ? [event] : []) }
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

  /// Counts an event that a client has caused.
  ///
  /// - Returns: Whether it is shown.
  private mutating func isShown(ofClients event: LogEvent, at now: MediaTime) -> Bool {
    if let index = self.clientEntries.firstIndex(where: { $0.event.isLike(event) }) {
      let isShown =
        self.clientEntries[index].shownCount < Self.maximumShownCount && self.clientBudget.take(at: now)
      if isShown { self.clientEntries[index].shownCount += 1 } else { self.clientEntries[index].foldedCount += 1 }
      return isShown
    }
    guard self.clientEntries.count < Self.maximumLineCount, self.clientBudget.take(at: now) else {
      self.unshown = (count: (self.unshown?.count ?? 0) + 1, start: self.unshown?.start ?? now)
      return false
    }
    self.clientEntries.append(Entry(event: event, start: now))
    return true
  }

  /// The events whose time is over, with the number of those that were not shown.
  mutating func due(at now: MediaTime) -> [LogEvent] {
    func takeDue(_ entries: inout [Entry]) -> [LogEvent] {
      let count = entries.prefix { now - $0.start >= Self.interval }.count
      defer { entries.removeFirst(count) }
      return entries.prefix(count).compactMap(\.summary)
    }
    let isOver = self.unshown.map { now - $0.start >= Self.interval } ?? false
    return takeDue(&self.entries) + takeDue(&self.clientEntries) + (isOver ? self.takeUnshown() : [])
  }

  /// The numbers of all events that were not shown, at the end of the program.
  mutating func flush() -> [LogEvent] {
    defer { (self.entries, self.clientEntries) = ([], []) }
    return (self.entries + self.clientEntries).compactMap(\.summary) + self.takeUnshown()
  }

  /// The number of events of clients that no other line counts.
  private mutating func takeUnshown() -> [LogEvent] {
    guard let unshown = self.unshown.take() else { return [] }
    var event = LogEvent(.clientEvents, message: "clients cause more events than are shown")
    event.foldedCount = unshown.count
    return [event]
  }
}
