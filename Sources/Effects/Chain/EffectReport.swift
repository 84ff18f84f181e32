public import Media

/// Report about an effect, made once per cause; again when it fails after some 1800 frames without a failure.
public struct EffectReport: Hashable, Sendable, CustomStringConvertible {
  /// Cause of a report, with the measured times or the error.
  public enum Kind: Hashable, Sendable {
    /// The effect took longer than the remaining time budget.
    case slow(took: MediaDuration, budget: MediaDuration)
    /// The effect threw an error, or left an invalid frame; the cause is written for users.
    case failed(cause: String)
    /// The effect cannot do for these frames all that it is set to; the cause is written for users.
    case limited(cause: String)
  }

  /// Name of the effect, ``VideoEffect/name``.
  public var name: String
  /// Cause of the report, with the measured times or the error.
  public var kind: Kind

  /// Creates a report about the effect of this name.
  public init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }

  /// The report as one line for users, with the effect's name and the cause.
  public var description: String {
    switch self.kind {
    case .slow(let took, let budget):
      "effect \(self.name) took \(took.nanoseconds / 1_000_000) ms where \(budget.nanoseconds / 1_000_000) ms were left;"
        + " use fewer effects, a smaller frame or a lower frame rate"
    case .failed(let cause): "effect \(self.name) failed: \(cause)"
    case .limited(let cause): "effect \(self.name): \(cause)"
    }
  }
}

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
