internal import Libc
internal import Media

/// File that this program has recorded, or is recording.
public struct RecordedFile: Hashable, Sendable {
  /// Path of the recorded file.
  public var path: String
  /// Path relative to ``FilePattern/folder``, used in URLs.
  public var name: String
  /// Size in bytes; grows while the file is recorded.
  public var byteCount: Int
  /// Time of the last write, in nanoseconds since 1970-01-01 00:00 UTC.
  public var modificationTime: Int64
  /// Whether the file is finished; otherwise it is being recorded, being finished, or was left by a crash.
  public var isFinished: Bool
  /// Recorder of the file; nil for files of earlier versions.
  var identity: RecordingIdentity?
  /// Whether the clock was synchronized when the file was created.
  var isClockSynchronized = false
  /// Place of the file among those of its recorder, see ``RecordingSequence``; nil for files of earlier versions.
  var sequenceNumber: UInt64?
  /// Device and inode; nil in tests of other rooms.
  var id: FileID?
  /// Time of the last change of the file, its name or attributes, in nanoseconds since 1970.
  var changeTime: Int64 = 0

  /// Lists the files that match a pattern, oldest first.
  ///
  /// Opens each of them, unlike ``RecordingCatalog``.
  static func list(matching pattern: FilePattern) -> [RecordedFile] {
    var files: [RecordedFile] = []
    pattern.forEach { path in
      if let file = RecordedFile(path, name: pattern.name(ofFile: path)) { files.append(file) }
    }
    return self.sorted(files)
  }

  /// Sorts files by age, oldest first: those of one recorder by their sequence numbers, which a clock that is set back does not
  /// change, at the places that its files have by time among those of others.
  static func sorted(_ files: some Sequence<RecordedFile>) -> [RecordedFile] {
    var sorted = files.sorted { ($0.modificationTime, $0.path) < ($1.modificationTime, $1.path) }
    for (identity, indices) in Dictionary(grouping: sorted.indices, by: { sorted[$0].identity }) where identity != nil {
      // A stable sort: files of equal numbers, as copies are, keep their order by time.
      let own = indices.map { sorted[$0] }.sorted { $0.sequence < $1.sequence }
      for (index, file) in zip(indices, own) { sorted[index] = file }
    }
    return sorted
  }

  /// The sequence number; for files of earlier versions, which came before all that have one, the time of the last write.
  private var sequence: UInt64 { self.sequenceNumber ?? UInt64(clamping: self.modificationTime) }

  /// Reads the head of a file; nil for files of other programs.
  init?(_ path: String, name: String) {
    guard let file = try? FileDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW), let status = try? file.status(),
      status.st_mode & S_IFMT == S_IFREG, let head = RecordingHead(of: file)
    else { return nil }
    self.init(
      path: path, name: name, byteCount: Int(clamping: status.st_size), modificationTime: status.modificationTime,
      isFinished: head.mark == .finished, identity: head.identity,
      isClockSynchronized: head.creation.isClockSynchronized,
      id: FileID(status))
    self.changeTime = status.changeTime
    self.sequenceNumber = head.creation.sequenceNumber
  }

  /// Creates a description of a file.
  package init(path: String, name: String, byteCount: Int, modificationTime: Int64, isFinished: Bool) {
    self.init(
      path: path, name: name, byteCount: byteCount, modificationTime: modificationTime, isFinished: isFinished,
      identity: nil, isClockSynchronized: false, id: nil)
  }

  init(
    path: String, name: String, byteCount: Int, modificationTime: Int64, isFinished: Bool,
    identity: RecordingIdentity?, isClockSynchronized: Bool, id: FileID?
  ) {
    self.path = path
    self.name = name
    self.byteCount = byteCount
    self.modificationTime = modificationTime
    self.isFinished = isFinished
    self.identity = identity
    self.isClockSynchronized = isClockSynchronized
    self.id = id
  }
}

/// Device and inode of a file, which a rename does not change.
struct FileID: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  init(_ status: stat) {
    self.device = UInt64(truncatingIfNeeded: status.st_dev)
    self.inode = UInt64(truncatingIfNeeded: status.st_ino)
  }
}
