public import Media

/// A change of a tracked face: entered, left, smile or blink.
public struct FaceEvent: Hashable, Sendable {
  /// Kind of an event: what has changed about the face.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The face entered the frame.
    case entered
    /// The face left the frame.
    case left
    /// The face began to smile.
    case smile
    /// Both eyes were closed briefly, and are open again.
    case blink
  }

  /// Kind of the change, such as a blink.
  public var kind: Kind
  /// Identifier of the face, ``Face/id``.
  public var face: Int
  /// Timestamp of the frame that shows the event.
  public var time: MediaTime
  /// Position of the face, in pixels of the frame; for ``Kind/left`` the last one that was reported.
  public var box: Face.Box

  /// Creates an event of a face, at the timestamp of a frame.
  public init(_ kind: Kind, face: Int, time: MediaTime, box: Face.Box) {
    (self.kind, self.face, self.time, self.box) = (kind, face, time, box)
  }
}

/// Reliability of the faces in a frame's metadata.
public enum FaceTrackingState: String, Hashable, Sendable, CaseIterable {
  /// Every tile was searched within the last 0.7 s.
  case current
  /// Detection is slower than the frames: faces may be missing.
  case behind
  /// The detector does not run.
  case failed
}
