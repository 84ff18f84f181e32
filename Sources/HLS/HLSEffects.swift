/// What the owner of an ``HLSStream`` does after it was called.
public struct HLSEffects: Hashable, Sendable {
  /// Whether the encoder is to be asked for a keyframe.
  public var requestsKeyframe = false
  /// Whether requests that were told to wait are to be asked again.
  public var wakesRequests = false

  /// Nothing to do.
  public static let none = HLSEffects()
}
