public import Media

/// What an effect has done and taken since it came into its chain.
public struct EffectStatistics: Hashable, Sendable {
  /// The effect's name.
  public let name: String
  /// The frames that it was given.
  public var frames = 0
  /// The time for all of them.
  public var time = MediaDuration.zero
  /// The time for the one that took longest.
  public var longestTime = MediaDuration.zero
  /// The frames that took longer than was left.
  public var overruns = 0
  /// The frames at which it threw, or left something else than a frame.
  public var failures = 0
  /// The frames that it took out.
  public var drops = 0
  /// The frames that were covered on its behalf.
  public var covers = 0

  /// Nothing was done yet.
  public init(name: String) {
    self.name = name
  }
}
