/// What is wrong with settings of effects.
public struct EffectSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key, such as `color.brightness`; empty for all of it.
  public var key: String
  /// What it is to be, for a user to read: no capital at the start, no full stop at the end.
  public var cause: String

  /// An error.
  public init(key: String, cause: String) {
    (self.key, self.cause) = (key, cause)
  }

  /// One line.
  public var description: String { self.key.isEmpty ? self.cause : "\"\(self.key)\" \(self.cause)" }
}
