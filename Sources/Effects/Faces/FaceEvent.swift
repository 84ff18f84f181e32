public import Media

/// A change of a tracked face: entered, left, smile or blink.
public struct FaceEvent: Hashable, Sendable {
  /// What happened.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It came into the frame.
    case entered
    /// It went out of the frame.
    case left
    /// It began to smile.
    case smile
    /// Both eyes were closed for a moment, and are open again.
    case blink
  }

  /// What happened.
  public var kind: Kind
  /// The ``Face/id``.
  public var face: Int
  /// The time of the frame that shows it.
  public var time: MediaTime
  /// Where the face was.
  public var box: Face.Box

  /// An event.
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
