extension VideoSchedule {
  /// Identity of a source, see ``VideoFeed/id``.
  struct SourceID: Hashable, Sendable {
    let number: Int
  }

  /// The source that may be passed through under ``PassThroughRule/isLimitedToFirstSource``.
  enum PassThroughSource: Hashable {
    /// Before the first frame or access unit.
    case undecided
    case source(SourceID)
    case none
  }
}
