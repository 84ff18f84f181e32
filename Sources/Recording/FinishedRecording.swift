public import Media

/// Progressive MP4 file produced by a recording or a repair.
public struct FinishedRecording: Hashable, Sendable {
  /// Path of the file.
  public var path: String
  /// Playing time.
  public var duration: MediaDuration
  /// Size of the file, in bytes.
  public var byteCount: Int
  /// Bytes of an incomplete fragment at the end of the open file, which are lost; 0 after an ordinary stop.
  public var lostByteCount: Int
}
