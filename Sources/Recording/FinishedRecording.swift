public import Media

/// A progressive MP4 file that a recording, or a repair, has left.
public struct FinishedRecording: Hashable, Sendable {
  /// The file.
  public var path: String
  /// How long it plays.
  public var duration: MediaDuration
  /// Its size.
  public var byteCount: Int
  /// Bytes at the end of the open file that were no whole fragment, and are lost: none after an ordinary stop.
  public var lostByteCount: Int
}
