internal import Media

/// Connects one source to the input queue while the source is attached; holds the state of that source alone.
protocol SourceFeed: AnyObject, Sendable {
  /// Items kept of the source while it waits to become the current one.
  associatedtype WaitingItems: WaitingSourceItems & Sendable
}

/// Frames and access units, or audio blocks, of a source that waits to become the current one; bounded by its input queue.
protocol WaitingSourceItems {
  /// No items.
  init()
  /// Whether the source has delivered no item that is of use.
  var isEmpty: Bool { get }
}

extension Array: WaitingSourceItems {}

/// Input queue of one media kind: the current source fills it, and a source that is to replace it waits in its slot.
protocol SourceInputQueue: AnyObject, Sendable {
  associatedtype Feed: SourceFeed

  /// Changes the slot.
  func withSlot<Result>(_ body: (inout SourceSlot<Feed>) -> Result) -> Result

  /// Blocks until `body` returns a value; nil when it did not before the deadline.
  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<Feed>) -> Result?) -> Result?

  /// Replaces the current source by the waiting one; items of the former are refused from now on.
  ///
  /// - Returns: False when the stream has ended meanwhile.
  func cut(to feed: Feed) -> Bool
}
