public import Media

/// What is to be reported an effect, once.
public struct EffectReport: Hashable, Sendable, CustomStringConvertible {
  /// What has happened.
  public enum Kind: Hashable, Sendable {
    /// It took longer than what was left of the time for all effects.
    case slow(took: MediaDuration, budget: MediaDuration)
    /// It threw an error, or left something else than a frame; the cause is for a user to read.
    case failed(cause: String)
  }

  /// The effect's name.
  public var name: String
  /// What has happened.
  public var kind: Kind

  /// A report.
  public init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }

  /// One line.
  public var description: String {
    switch self.kind {
    case .slow(let took, let budget):
      "effect \(self.name) took \(took.nanoseconds / 1_000_000) ms where \(budget.nanoseconds / 1_000_000) ms were left;"
        + " use fewer effects, a smaller frame or a lower frame rate"
    case .failed(let cause): "effect \(self.name) failed: \(cause)"
    }
  }
}
