/// What becomes of a picture after an effect.
public enum EffectVerdict: Hashable, Sendable {
  /// It goes on.
  case keep
  /// Nobody gets to see it.
  case drop
  /// It goes on as a plain, dark one: what it shows must not be seen.
  case cover
}
