/// Results of effects that accompany a frame to the outputs.
public struct FrameMetadata: Hashable, Sendable {
  /// Faces in the frame, in pixels.
  public var faces: [Face] = []
  /// Uncertain faces: detected for the first time, briefly not detected, or hidden by another face. For effects that
  /// must not miss a face.
  public var possibleFaces: [Face] = []
  /// Changes of faces since the previous frame.
  public var faceEvents: [FaceEvent] = []
  /// Reliability of ``faces``; nil without a face tracker.
  public var faceTracking: FaceTrackingState?

  /// Creates metadata without faces, events and tracking state.
  public init() {}
}
