public import Media

/// How a recording is doing, for a progress line.
public struct RecordingStatus: Hashable, Sendable {
  /// What it is doing.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// Nothing.
    case idle
    /// It waits for the keyframe at which it begins or goes on.
    case waiting
    /// It takes what the stream gives.
    case recording
    /// Paused: drops samples until it is resumed.
    case paused
    /// It makes finished files of what it has recorded.
    case finishing
    /// It has stopped by itself; see ``RecordingStatus/error``.
    case failed
  }

  /// What it is doing.
  public var state = State.idle
  /// The file of the current part, or the last one; nil before the first.
  public var path: String?
  /// Parts so far.
  public var partCount = 0
  /// The length of all parts together, pauses not counted.
  public var duration = MediaDuration.zero
  /// Bytes written to all parts.
  public var byteCount = 0
  /// Bits a second, over the last seconds.
  public var bitrate = 0
  /// Video frames that the disk was too slow for.
  public var videoSamplesDropped = 0
  /// Audio frames that the disk was too slow for.
  public var audioSamplesDropped = 0
  /// Bytes that wait for the disk.
  public var queuedByteCount = 0
  /// Why it has stopped by itself.
  public var error: VidiconError?

  /// The status of nothing.
  public init() {}
}
