public import Media

/// Something that happened to a face.
public struct FaceEvent: Hashable, Sendable {
  /// What happened.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It came into the picture.
    case entered
    /// It went out of the picture.
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
  /// The time of the picture that shows it.
  public var time: MediaTime
  /// Where the face was.
  public var box: Face.Box

  /// An event.
  public init(_ kind: Kind, face: Int, time: MediaTime, box: Face.Box) {
    (self.kind, self.face, self.time, self.box) = (kind, face, time, box)
  }
}
