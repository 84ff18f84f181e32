internal import Media

/// Who may fill a inputQueue: the present source, and one that waits to take its place.
struct SourceSlot<Feed: SourceFeed> {
  /// What a source is to the inputQueue.
  enum Role {
    case present
    case waiting
    /// It was replaced, given up, or the stream has ended.
    case dismissed
  }

  private struct Waiting {
    let feed: Feed
    var start: Result<Void, VidiconError>?
    var items: [Feed.Item] = []
    /// Set when the source has ended; nil in it without an error.
    var ending: VidiconError??
  }

  /// The source that viewers see or hear; nil at the end of the stream.
  private(set) var present: Feed?
  /// Whether the stream has ended.
  private(set) var isClosed = false
  private var waiting: Waiting?

  init(present: Feed? = nil) {
    self.present = present
  }

  func role(of feed: Feed) -> Role {
    if feed === self.present { return .present }
    return feed === self.waiting?.feed ? .waiting : .dismissed
  }

  /// Takes the stream's first source.
  mutating func seat(_ feed: Feed) {
    self.present = feed
  }

  /// Lets a source wait; false when the stream has ended.
  mutating func admit(_ feed: Feed) -> Bool {
    guard !self.isClosed else { return false }
    self.waiting = Waiting(feed: feed)
    return true
  }

  /// Told that the waiting source was started, or could not be; false when it is not waited for any more, so that whoever
  /// started it must stop it.
  mutating func started(_ feed: Feed, _ result: Result<Void, VidiconError>) -> Bool {
    guard self.role(of: feed) == .waiting else { return false }
    self.waiting?.start = result
    return true
  }

  /// What came of the waiting source's start, once that is known.
  func startResult(of feed: Feed) -> Result<Void, VidiconError>? {
    self.waiting.flatMap { $0.feed === feed ? $0.start : nil }
  }

  /// What the waiting source has handed over; the inputQueue says which of it is of use.
  var waitingItems: [Feed.Item] {
    get { self.waiting?.items ?? [] }
    set { self.waiting?.items = newValue }
  }

  /// How the waiting source has ended; nil when it has not.
  var waitingEnding: VidiconError?? {
    get { self.waiting?.ending }
    set { self.waiting?.ending = newValue }
  }

  /// Sends a source away that waits.
  ///
  /// - Returns: Whether it had been started, so that the caller must stop it; otherwise whoever starts it does.
  mutating func withdraw(_ feed: Feed) -> Bool {
    guard let waiting = self.waiting, waiting.feed === feed else { return false }
    self.waiting = nil
    if case .success = waiting.start { return true }
    return false
  }

  /// Lets the waiting source take the place of the present one.
  ///
  /// - Returns: What it has handed over, and its end, if that has come too; nil when it does not wait.
  mutating func promote(_ feed: Feed) -> (items: [Feed.Item], ending: VidiconError??)? {
    guard !self.isClosed, let waiting = self.waiting, waiting.feed === feed else { return nil }
    self.present = feed
    self.waiting = nil
    return (waiting.items, waiting.ending)
  }

  /// Ends it all. A source that waits still does, until the switch has seen that.
  mutating func close() {
    self.isClosed = true
    self.present = nil
  }
}
