internal import Libc
internal import Media

/// Creates the files of one recording, each with a unique name.
struct PartNames {
  private let pattern: FilePattern
  private let existing: RecordingSettings.ExistingFiles
  private let identity: RecordingIdentity
  private let startTime: Int64
  private let firstSequenceNumber: UInt64
  /// The last name without its number, and the number.
  private var last: (path: String, number: Int)?

  /// Number of names that are tried one by one before the folder is listed.
  static let triedNames = 16

  /// - Parameters:
  ///   - identity: The recorder, whose earlier recording may still be finishing its files.
  ///   - startTime: Start of the recording, in nanoseconds since 1970.
  ///   - firstSequenceNumber: Minimum sequence number of the recording's files, see ``RecordingSequence``.
  init(
    _ pattern: FilePattern, existing: RecordingSettings.ExistingFiles, identity: RecordingIdentity, startTime: Int64,
    firstSequenceNumber: UInt64
  ) {
    (self.pattern, self.existing, self.identity, self.startTime) = (pattern, existing, identity, startTime)
    self.firstSequenceNumber = firstSequenceNumber
  }

  /// Creates the file of the part that begins at a time of day, in nanoseconds since 1970.
  ///
  /// Other parts of the same recording are never overwritten, and a running recording does not fail because a name is
  /// taken.
  mutating func makeFile(
    at time: Int64
  ) throws(VidiconError) -> RecordingPart.File {
    let (folders, path) = self.pattern.name(atUnixTime: time)
    for folder in folders { try Folder.make(folder) }
    let (folderPath, name) = Folder.split(path)
    let folder = try FileDescriptor(folderPath, O_RDONLY | O_DIRECTORY)
    var number = self.last.map { $0.path == path ? $0.number + 1 : 1 } ?? 1
    let firstNumber = number
    while true {
      if number == firstNumber + Self.triedNames { number = Self.freeNumber(of: name, from: number, in: folderPath) }
      let candidate = number == 1 ? name : FilePattern.numbered(name, number)
      if let file = try self.make(candidate, in: folder) {
        self.last = (path, number)
        return file
      }
      number += 1
    }
  }

  /// The lowest number from `first` on that no file in a folder has.
  static func freeNumber(of name: String, from first: Int, in folder: String) -> Int {
    let taken = Set(Folder.names(in: folder))
    var number = first
    while taken.contains(FilePattern.numbered(name, number)) { number += 1 }
    return number
  }

  /// Creates a file; nil when the name is taken and the next one is to be tried.
  private func make(_ name: String, in folder: FileDescriptor) throws(VidiconError) -> RecordingPart.File? {
    while true {
      do throws(VidiconError) {
        let file = try FileDescriptor(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
        // A new file has no other user, so the lock is always free.
        _ = file.lock()
        return RecordingPart.File(file: file, folder: folder, name: name)
      } catch  where error.code == .alreadyExists {
        switch self.existing {
        case .number: return nil
        case .refuse:
          if self.last != nil { return nil }
          throw error
        case .overwrite:
          guard try self.mayReplace(name, in: folder) else { return nil }
          // The old file stays until the new one has its first fragment.
          let (file, temporary) = try TemporaryFile.make(in: folder, subject: error.subject)
          return RecordingPart.File(file: file, folder: folder, name: temporary, finalName: name)
        }
      }
    }
  }

  /// Whether a file may be overwritten; false when it belongs to this recording.
  private func mayReplace(_ name: String, in folder: FileDescriptor) throws(VidiconError) -> Bool {
    let old = try ReplacedFile(name, in: folder)
    let (file, status) = (old.file, try old.file.status())
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw VidiconError(
        .alreadyExists, path: file.path, cause: "it exists and is no file", nextStep: "give another name")
    }
    if self.last != nil, status.modificationTime >= self.startTime { return false }
    if let head = RecordingHead(of: file), head.identity == self.identity {
      // A part of this recording, also where the clock was set back since.
      if let number = head.creation.sequenceNumber, number >= self.firstSequenceNumber { return false }
      // An earlier recording of the same recorder is finishing it.
      if old.lock == .taken { return false }
    }
    if let refusal = old.refusal { throw refusal }
    return true
  }
}

extension stat {
  /// Time of the last change of the file or its attributes, in nanoseconds since 1970, by the kernel's clock; no program sets
  /// it, unlike the modification time.
  var changeTime: Int64 {
    #if canImport(Darwin)
    let time = self.st_ctimespec
    #else
    let time = self.st_ctim
    #endif
    return MediaDuration(clampingSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)).nanoseconds
  }

  /// In nanoseconds since 1970; the nearest number for times outside of 1677 to 2262, which anybody can give a file.
  var modificationTime: Int64 {
    #if canImport(Darwin)
    let time = self.st_mtimespec
    #else
    let time = self.st_mtim
    #endif
    return MediaDuration(clampingSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)).nanoseconds
  }
}
