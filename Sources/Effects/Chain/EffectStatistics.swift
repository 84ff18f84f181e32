public import Media

/// Counters of an effect since it was added to its chain.
public struct EffectStatistics: Hashable, Sendable {
  /// ``VideoEffect/name`` of the effect.
  public let name: String
  /// Number of frames passed to the effect, including those that it dropped or failed on.
  public var frames = 0
  /// Time spent in the effect for all ``frames`` together.
  public var time = MediaDuration.zero
  /// Maximum time spent in the effect for one frame.
  public var maximumTime = MediaDuration.zero
  /// Number of frames that took longer than the remaining budget.
  public var overruns = 0
  /// Number of frames for which the effect threw, or left an invalid frame.
  public var failures = 0
  /// Number of frames that the effect dropped.
  public var drops = 0
  /// Number of frames that were covered as a whole, because the effect requested it or threw as a privacy effect.
  public var covers = 0

  /// Number of times that the search for faces of a privacy effect missed its deadline, and was started again.
  public var detectionStalls = 0
  /// Number of times that the search for faces of a privacy effect failed, and was started again.
  public var detectionFailures = 0

  /// Creates statistics with all counters at zero.
  public init(name: String) {
    self.name = name
  }
}
