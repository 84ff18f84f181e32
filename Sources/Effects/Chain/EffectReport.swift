public import Media

/// Report about an effect, made once per cause; again when it fails after some 1800 frames without a failure.
public struct EffectReport: Hashable, Sendable, CustomStringConvertible {
  /// Cause of a report, with the measured times or the error.
  public enum Kind: Hashable, Sendable {
    /// The effect took longer than the remaining time budget.
    case slow(took: MediaDuration, budget: MediaDuration)
    /// The effect threw an error, or left an invalid frame; the cause is written for users.
    case failed(cause: String)
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
    }
  }
}
