public import Media

/// Counters of an effect since it was added to its chain.
public struct EffectStatistics: Hashable, Sendable {
  /// ``VideoEffect/name`` of the effect.
  public let name: String
  /// Number of processed frames.
  public var frames = 0
  /// Total processing time.
  public var time = MediaDuration.zero
  /// Maximum processing time of a frame.
  public var maximumTime = MediaDuration.zero
  /// Number of frames that took longer than the remaining budget.
  public var overruns = 0
  /// Number of frames for which the effect threw, or left an invalid frame.
  public var failures = 0
  /// Number of frames that the effect dropped.
  public var drops = 0
  /// Number of frames that were covered as a whole, because the effect requested it or threw as a privacy effect.
  public var covers = 0

  /// Creates statistics without any frame.
  public init(name: String) {
    self.name = name
  }
}
