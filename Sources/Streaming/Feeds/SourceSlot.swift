internal import Media

/// Slot of an input queue: the current source, and one that waits to replace it.
struct SourceSlot<Feed: SourceFeed> {
  /// Role of a source.
  enum Role {
    case current
    case waiting
    /// Replaced, given up, or the stream has ended.
    case dismissed
  }

  private struct Waiting {
    let feed: Feed
    var start: Result<Void, VidiconError>?
    /// Set when the source has ended; its value is nil without an error.
    var ending: VidiconError??
  }

  /// The source of the output; nil at the end of the stream.
  private(set) var current: Feed?
  /// Whether the stream has ended.
  private(set) var isClosed = false
  private var waiting: Waiting?
  /// Items of the waiting source, without copies elsewhere; the input queue decides which of them are of use.
  var waitingItems = Feed.WaitingItems()

  init(current: Feed? = nil) {
    self.current = current
  }

  func role(of feed: Feed) -> Role {
    if feed === self.current { return .current }
    return feed === self.waiting?.feed ? .waiting : .dismissed
  }

  /// Connects the stream's first source.
  mutating func connect(_ feed: Feed) {
    self.current = feed
  }

  /// Registers a source that is to replace the current one; returns false when the stream has ended.
  mutating func admit(_ feed: Feed) -> Bool {
    guard !self.isClosed else { return false }
    self.waiting = Waiting(feed: feed)
    self.waitingItems = Feed.WaitingItems()
    return true
  }

  /// Records whether the start of the waiting source has succeeded; returns false when the source is no longer
  /// waited for, so that the caller must stop it.
  mutating func started(_ feed: Feed, _ result: Result<Void, VidiconError>) -> Bool {
    guard self.role(of: feed) == .waiting else { return false }
    self.waiting?.start = result
    return true
  }

  /// Result of the start of the waiting source; nil while unknown.
  func startResult(of feed: Feed) -> Result<Void, VidiconError>? {
    self.waiting.flatMap { $0.feed === feed ? $0.start : nil }
  }

  /// End of the waiting source; nil while it has not ended.
  var waitingEnding: VidiconError?? {
    get { self.waiting?.ending }
    set { self.waiting?.ending = newValue }
  }

  /// Removes the waiting source.
  ///
  /// - Returns: Whether its start had succeeded, so that the caller must stop it; otherwise the thread that starts it
  ///   does.
  mutating func withdraw(_ feed: Feed) -> Bool {
    guard let waiting = self.waiting, waiting.feed === feed else { return false }
    self.waiting = nil
    self.waitingItems = Feed.WaitingItems()
    if case .success = waiting.start { return true }
    return false
  }

  /// Makes the waiting source the current one.
  ///
  /// - Returns: Its items, and its end if it has ended; nil when it does not wait.
  mutating func promote(_ feed: Feed) -> (items: Feed.WaitingItems, ending: VidiconError??)? {
    guard !self.isClosed, let waiting = self.waiting, waiting.feed === feed else { return nil }
    self.current = feed
    self.waiting = nil
    defer { self.waitingItems = Feed.WaitingItems() }
    return (self.waitingItems, waiting.ending)
  }

  /// Ends the slot. A waiting source remains until the switch has noticed.
  mutating func close() {
    self.isClosed = true
    self.current = nil
  }
}
