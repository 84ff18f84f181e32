public import Media

/// Path pattern, format and limits of a recording's files.
public struct RecordingSettings: Hashable, Sendable {
  /// Behavior when a file with the name of a new one exists.
  public enum ExistingFiles: String, Hashable, Sendable, CaseIterable {
    /// Keeps the file; the new one is called `NAME-2.mp4`, `NAME-3.mp4`, whichever is free.
    case number
    /// Fails to start the recording.
    case refuse
    /// Removes the file, unless it is a part of the same recording.
    case overwrite
  }

  /// Retention rule: which finished files of the pattern are removed while recording.
  ///
  /// Only files that the same recorder wrote are removed, by the identity stored in each (the stream's name and
  /// ``RecordingSettings/recorderID``), oldest first; never the file finished last, and the parts of the current
  /// recording only where it is split by duration or size.
  public struct Retention: Hashable, Sendable {
    /// Maximum age since the last write; older files are removed. Nil for no limit. While the machine's clock is not
    /// synchronized by a time service no file is removed by age, nor one that was created in that state.
    public var age: MediaDuration?
    /// Maximum number of bytes of all files together, the current one included; the oldest files beyond it are
    /// removed. Nil for no limit.
    public var byteCount: Int?

    /// Creates a retention rule; by default nothing is removed.
    public init(age: MediaDuration? = nil, byteCount: Int? = nil) {
      self.age = age
      self.byteCount = byteCount
    }
  }

  /// Name pattern of the files.
  public var pattern: FilePattern
  /// Behavior when a name is taken.
  public var existingFiles: ExistingFiles
  /// Minimum duration of a part; the first keyframe after it begins the next part. Nil for one part.
  public var partDuration: MediaDuration?
  /// Maximum number of bytes of a part, which ends at a keyframe some seconds earlier. Exceeded when those few seconds
  /// are larger than the limit. Nil for one part.
  public var partByteCount: Int?
  /// Total duration of all parts, without pauses, after which the recording stops; nil for no limit.
  public var duration: MediaDuration?
  /// Limits of age and size by which old files are removed.
  public var retention: Retention
  /// Minimum number of bytes that a recording leaves free on its disk; nil for 1 GB, or 5 % of a disk below 20 GB.
  ///
  /// When fewer are left, the retention rule removes the oldest files; without a rule, or when there are none, the
  /// recording stops and its file is finished.
  public var minimumFreeByteCount: Int?
  /// Identifies the recorder in its files, together with the stream's name; by default the pattern without the folders
  /// before its first field.
  public var recorderID: String
  /// Human-readable title, stored in the file; nil for none.
  public var title: String?
  /// Rotation that players apply; upright for streams whose frames are rotated before encoding.
  public var orientation: Orientation
  /// Maximum number of bytes of media data that are copied when a file is finished; larger files are finished in place.
  package var maximumCopiedByteCount = Self.maximumCopiedByteCount
  /// Default of the property: copying 16 MiB takes less than a second.
  package static let maximumCopiedByteCount = 16 << 20
  /// Maximum number of bytes of samples queued for the disk; beyond it samples are dropped up to the next keyframe.
  public var queueByteCount: Int

  /// Creates settings; by default one part, and a queue of 32 MiB: two minutes at 2.3 Mb/s.
  public init(
    _ pattern: FilePattern,
    existingFiles: ExistingFiles = .number,
    partDuration: MediaDuration? = nil,
    partByteCount: Int? = nil,
    duration: MediaDuration? = nil,
    retention: Retention = Retention(),
    minimumFreeByteCount: Int? = nil,
    recorderID: String? = nil,
    title: String? = nil,
    orientation: Orientation = .up,
    queueByteCount: Int = 32 << 20
  ) {
    self.pattern = pattern
    self.existingFiles = existingFiles
    self.partDuration = partDuration
    self.partByteCount = partByteCount
    self.duration = duration
    self.retention = retention
    self.minimumFreeByteCount = minimumFreeByteCount
    self.recorderID = recorderID ?? pattern.name(ofFile: pattern.description)
    self.title = title
    self.orientation = orientation
    self.queueByteCount = queueByteCount
  }
}
