/// Results of effects that accompany a frame to the outputs.
public struct FrameMetadata: Hashable, Sendable {
  /// Faces in the frame, in pixels.
  public var faces: [Face] = []
  /// Uncertain faces: detected just now, out of sight for a moment, or behind another face. For uses that must not
  /// miss a face.
  public var possibleFaces: [Face] = []
  /// Changes of faces since the previous frame.
  public var faceEvents: [FaceEvent] = []
  /// Reliability of ``faces``; nil without a face tracker.
  public var faceTracking: FaceTrackingState?

  /// Creates empty metadata.
  public init() {}
}
