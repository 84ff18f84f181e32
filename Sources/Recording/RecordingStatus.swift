public import Media

/// Status of a recording, for a progress line.
public struct RecordingStatus: Hashable, Sendable {
  /// Phases of a recorder.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// No recording.
    case idle
    /// Waiting for the keyframe at which the recording starts or resumes.
    case waiting
    /// Recording the stream's samples.
    case recording
    /// Paused: drops samples until it is resumed.
    case paused
    /// Finishing the recorded files.
    case finishing
    /// Stopped by an error; see ``RecordingStatus/error``.
    case failed
  }

  /// Phase of the recording now; ``State/idle`` until one is started.
  public var state = State.idle
  /// File of the current part, or of the last one; nil before the first.
  public var path: String?
  /// Name of that file, as ``RecordedFile/name``.
  public var file: String?
  /// Number of parts so far.
  public var partCount = 0
  /// Total duration of all parts, without pauses.
  public var duration = MediaDuration.zero
  /// Bytes written to all parts.
  public var byteCount = 0
  /// Average bitrate of the last seconds, in bits per second.
  public var bitrate = 0
  /// Number of video frames dropped because the disk was too slow, or a full file had no keyframe to continue at.
  public var videoSamplesDropped = 0
  /// Number of audio frames dropped because the disk was too slow, or a full file had no keyframe to continue at.
  public var audioSamplesDropped = 0
  /// Number of bytes queued for the disk.
  public var queuedByteCount = 0
  /// Number of recordings whose files are being finished in the background.
  public var finishingCount = 0
  /// Number of parts, of all recordings of the recorder, that could not be finished and were not repaired since; they are
  /// fragmented MP4 files, which play. Files that were moved or removed do not count.
  public var unfinishedPartCount = 0
  /// Error that stopped the recording.
  public var error: VidiconError?

  /// Number of video and audio frames dropped.
  public var samplesDropped: Int { self.videoSamplesDropped + self.audioSamplesDropped }

  /// Creates the status of an idle recorder.
  public init() {}
}
