/// Results of effects that accompany a frame to the outputs.
public struct FrameMetadata: Hashable, Sendable {
  /// The faces in the frame, in its pixels.
  public var faces: [Face] = []
  /// What may be a face, but is not sure to be one: found just now, out of sight for a moment, or behind another one. Of
  /// interest where no face must be missed.
  public var possibleFaces: [Face] = []
  /// What has happened to faces since the frame before.
  public var faceEvents: [FaceEvent] = []
  /// Whether ``faces`` can be relied upon; nil without a face tracker.
  public var faceTracking: FaceTrackingState?

  /// Nothing is known.
  public init() {}
}
