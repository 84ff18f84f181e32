public import Media

/// Progressive MP4 file produced by a recording or a repair.
public struct FinishedRecording: Hashable, Sendable {
  /// Path of the finished file.
  public var path: String
  /// Playing time, without pauses of the recording.
  public var duration: MediaDuration
  /// Size of the file, in bytes.
  public var byteCount: Int
  /// Bytes of the open file that belong to no whole fragment, which are lost: an incomplete fragment at its end, and
  /// ``damage``; 0 after an ordinary stop.
  public var lostByteCount: Int
  /// Damaged parts of the open file; empty after an ordinary stop or crash.
  public var damage: [Damage] = []
  /// Path of the damaged file, which is kept; nil without damage.
  public var original: String?

  /// A damaged part of an open file.
  public struct Damage: Hashable, Sendable {
    /// Offset in the damaged file, in bytes.
    public var offset: Int
    /// Length of the damaged part, in bytes.
    public var byteCount: Int
    /// Time that is missing in the recording; nil where it is not known, at the end of the file.
    public var lostDuration: MediaDuration?
  }
}
