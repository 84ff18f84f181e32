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

  /// The source of the output; nil at the end of the stream.
  private(set) var current: Feed?
  /// Whether the stream has ended.
  private(set) var isClosed = false
  private var waiting: Feed? {
    didSet { (self.waitingItems, self.waitingEnding) = (Feed.WaitingItems(), nil) }
  }
  /// Items of the waiting source, without copies elsewhere; the input queue decides which of them are of use.
  var waitingItems = Feed.WaitingItems()
  /// Set when the waiting source has ended; its value is nil without an error.
  var waitingEnding: VidiconError??

  init(current: Feed? = nil) {
    self.current = current
  }

  func role(of feed: Feed) -> Role {
    if feed === self.current { return .current }
    return feed === self.waiting ? .waiting : .dismissed
  }

  /// Connects the stream's first source.
  mutating func connect(_ feed: Feed) {
    self.current = feed
  }

  /// Registers a source that is to replace the current one; returns false when the stream has ended.
  mutating func admit(_ feed: Feed) -> Bool {
    guard !self.isClosed else { return false }
    self.waiting = feed
    return true
  }

  /// Removes the waiting source.
  mutating func withdraw(_ feed: Feed) {
    if self.waiting === feed { self.waiting = nil }
  }

  /// Makes the waiting source the current one.
  ///
  /// - Returns: Its items, and its end if it has ended; nil when it does not wait.
  mutating func promote(_ feed: Feed) -> (items: Feed.WaitingItems, ending: VidiconError??)? {
    guard !self.isClosed, self.waiting === feed else { return nil }
    self.current = feed
    defer { self.waiting = nil }
    return (self.waitingItems, self.waitingEnding)
  }

  /// Ends the slot. A waiting source remains until the switch has noticed.
  mutating func close() {
    self.isClosed = true
    self.current = nil
  }
}
