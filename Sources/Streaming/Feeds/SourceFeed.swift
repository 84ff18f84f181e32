internal import Media

/// The way from one source to the inputQueue, for as long as the source is attached. Everything that a capturer hands over
/// goes through here, and with it what holds for this source alone.
protocol SourceFeed: AnyObject, Sendable {
  /// What comes this way.
  associatedtype Item: Sendable
}

/// Where the sources of one kind meet: the present one fills it, and one that is to take its place waits at its door.
protocol SourceInputQueue: AnyObject, Sendable {
  associatedtype Feed: SourceFeed

  /// Reads or changes who may fill it.
  func withSlot<Result>(_ body: (inout SourceSlot<Feed>) -> Result) -> Result

  /// Waits until `body` has a result; nil when it had none before the deadline.
  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<Feed>) -> Result?) -> Result?

  /// Lets the source that waits take the place of the present one, whose items are refused from now on.
  ///
  /// - Returns: False when the stream has ended meanwhile.
  func cut(to feed: Feed) -> Bool
}
