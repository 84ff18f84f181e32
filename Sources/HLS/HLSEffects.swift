/// What the owner of an ``HLSStream`` does after it was called.
public struct HLSEffects: Hashable, Sendable {
  /// Whether the encoder is to be asked for a keyframe.
  public var requestsKeyframe: Bool
  /// Whether requests that were told to wait are to be asked again.
  public var wakesRequests: Bool

  /// What is to be done; nothing by default.
  public init(requestsKeyframe: Bool = false, wakesRequests: Bool = false) {
    self.requestsKeyframe = requestsKeyframe
    self.wakesRequests = wakesRequests
  }

  /// Nothing to do.
  public static let none = HLSEffects(requestsKeyframe: false)
}
