public import Media

/// Where and how a recording is written.
public struct RecordingSettings: Hashable, Sendable {
  /// What to do with a file that has the name of a new one.
  public enum ExistingFiles: String, Hashable, Sendable, CaseIterable {
    /// It stays, and the new one is called `NAME-2.mp4`, `NAME-3.mp4`, whichever is free.
    case number
    /// The recording does not start.
    case refuse
    /// It is removed, unless it is a part of the same recording.
    case overwrite
  }

  /// Which files are removed while recording: finished ones of this pattern that this program made.
  public struct Retention: Hashable, Sendable {
    /// Files that were last written longer ago than this; nil for none.
    public var age: MediaDuration?
    /// The oldest ones while all together take more bytes than this, the one being recorded included; nil for none.
    public var byteCount: Int?

    /// A rule; by default nothing is removed.
    public init(age: MediaDuration? = nil, byteCount: Int? = nil) {
      self.age = age
      self.byteCount = byteCount
    }
  }

  /// The names of the files.
  public var pattern: FilePattern
  /// What to do where a name is taken.
  public var existingFiles: ExistingFiles
  /// The length of a part; the first keyframe from there on begins the next one. Nil for one part.
  public var partDuration: MediaDuration?
  /// Maximum number of bytes of a part. It ends at a keyframe some seconds before; a smaller size than those seconds take is
  /// exceeded. Nil for one part.
  public var partByteCount: Int?
  /// The length of all parts together, pauses not counted, after which the recording stops; nil for no end.
  public var duration: MediaDuration?
  /// Which old files are removed.
  public var retention: Retention
  /// A title for people; nil for none.
  public var title: String?
  /// How players turn the video frame; up for streams that turn it themselves.
  public var orientation: Orientation
  /// Maximum number of bytes of samples that wait for the disk; beyond it they are dropped up to the next keyframe.
  public var queueByteCount: Int

  /// Settings; by default one part, and 32 MiB that wait for the disk: two minutes at 2.3 Mb/s.
  public init(
    _ pattern: FilePattern,
    existingFiles: ExistingFiles = .number,
    partDuration: MediaDuration? = nil,
    partByteCount: Int? = nil,
    duration: MediaDuration? = nil,
    retention: Retention = Retention(),
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
    self.title = title
    self.orientation = orientation
    self.queueByteCount = queueByteCount
  }
}
