/// What an image that settings of effects refer to is for.
public enum EffectImageUse: String, Hashable, Sendable, CaseIterable {
  /// It is drawn over faces: ``EffectSettings/Mask/image``.
  case mask
  /// It is drawn at one place: ``EffectSettings/overlay``.
  case overlay
}
