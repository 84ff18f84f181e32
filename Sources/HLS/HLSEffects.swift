/// Actions that the owner of an ``HLSStream`` performs after a call.
public struct HLSEffects: Hashable, Sendable {
  /// Whether to request a keyframe from the encoder.
  public var requestsKeyframe: Bool
  /// Whether to repeat all waiting requests.
  public var wakesRequests: Bool

  /// Creates a set of actions; none by default.
  public init(requestsKeyframe: Bool = false, wakesRequests: Bool = false) {
    self.requestsKeyframe = requestsKeyframe
    self.wakesRequests = wakesRequests
  }

  /// No action.
  public static let none = HLSEffects(requestsKeyframe: false)
}
