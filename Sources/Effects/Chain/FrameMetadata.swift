/// What effects have found out about a picture; it travels with it.
public struct FrameMetadata: Hashable, Sendable {
  /// The faces in the picture, in its pixels.
  public var faces: [Face] = []
  /// What may be a face, but is not sure to be one: found just now, out of sight for a moment, or behind another one. Of
  /// interest where no face must be missed.
  public var possibleFaces: [Face] = []
  /// What has happened to faces since the picture before.
  public var faceEvents: [FaceEvent] = []
  /// Whether ``faces`` can be relied upon; nil where nobody has looked for faces.
  public var faceTracking: FaceTrackingState?

  /// Nothing is known.
  public init() {}
}
