internal import Containers
internal import Media
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Converts a fragmented MP4 file to a progressive one, in place.
///
/// The new file is written beside the old one under a temporary name, synchronized to disk, and renamed over the old
/// one. Until then the old file is unchanged; the next repair removes temporary files that a crash left.
struct RecordingFinalizer {
  /// The fragmented file; its lock is held.
  let file: FileDescriptor
  let folder: FileDescriptor
  let name: String

  /// Prefix and suffix of temporary file names.
  private static let temporaryName = (prefix: ".vidicon-", suffix: ".tmp")
  /// Maximum number of attempts to create the temporary file.
  private static let maximumAttempts = 100
  /// Maximum number of bytes copied per system call.
  private static let maximumCopy = 64 << 20

  /// Whether a name is that of a temporary file.
  static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(self.temporaryName.prefix) && name.hasSuffix(self.temporaryName.suffix)
  }

  /// Indexes the file's boxes and fragments.
  ///
  /// - Returns: The error of a file that is not fragmented, or whose head is damaged.
  /// - Throws: ``VidiconError`` when the disk fails, so that it is not known what the file contains.
  func scan() throws(VidiconError) -> Result<MovieScan, ParsingError> {
    let length = Int(try self.file.status().st_size)
    let isOwn = self.isOwn
    var failure: Int32?
    let read = { [file] (offset: UInt64, count: Int) -> ByteBuffer? in
      let bytes = file.read(at: offset, count: count)
      // A short read inside of the file: another program truncates it.
      if bytes?.readableBytes != min(count, Int(clamping: UInt64(length) - min(offset, UInt64(length)))) {
        failure = bytes == nil ? errno : EIO
      }
      return bytes
    }
    let result: Result<MovieScan, ParsingError>
    do throws(ParsingError) {
      result = .success(
        try withoutActuallyEscaping(read) { (read) throws(ParsingError) in
          try MovieScan(length: UInt64(clamping: length), isOwn: isOwn, read: read)
        })
    } catch {
      result = .failure(error)
    }
    if let failure {
      throw VidiconError(
        .failed, path: self.file.path,
        cause: "the disk fails while it is read (\(String(cString: strerror(failure)))); nothing was changed",
        nextStep: "check the disk, or copy the file to another one and repair the copy")
    }
    return result
  }

  /// Whether this program recorded the file: by its marker, or the name of the encoder that it writes into `moov`.
  var isOwn: Bool {
    if RecordingHead(of: self.file) != nil { return true }
    guard let head = self.file.read(at: 0, count: Self.headLength) else { return false }
    return head.withUnsafeReadableBytes { bytes in
      let names = [Self.encoder, "vidicon: "].map { Array($0.utf8) }
      return bytes.indices.contains { index in names.contains { bytes[index...].starts(with: $0) } }
    }
  }

  /// Name of the program in the metadata of its files.
  static let encoder = "Vidicon"
  /// Maximum number of bytes before the first fragment that are searched for ``encoder``.
  private static let headLength = 64 << 10

  /// Writes the progressive file and renames it over the fragmented one, which is kept under another name when it is
  /// damaged.
  ///
  /// - Throws: ``VidiconError``; the fragmented file is then unchanged.
  func run(_ scan: MovieScan) throws(VidiconError) -> FinishedRecording {
    let status = try self.file.status()
    let head = RecordingHead(of: self.file)
    let start = scan.movie.serializeStart(
      note: RecordingHead.boxes(
        .finished, head?.identity, isClockSynchronized: head?.isClockSynchronized ?? false))
    let length = UInt64(start.readableBytes) + scan.movie.dataLength
    try self.checkRoom(for: length)

    let temporary = "\(Self.temporaryName.prefix)\(String(status.st_ino, radix: 16))\(Self.temporaryName.suffix)"
    let copy = try self.makeTemporary(temporary)
    var original: String?
    do throws(VidiconError) {
      try copy.write(start, at: 0)
      var offset = UInt64(start.readableBytes)
      for range in scan.data {
        try self.copy(range, to: copy, at: offset)
        offset += range.upperBound - range.lowerBound
      }
      // The new file gets the owner, permissions and times of the old one, as far as this process may set them.
      _ = fchown(copy.number, status.st_uid, status.st_gid)
      _ = fchmod(copy.number, status.st_mode & 0o7777)
      Self.setModificationTime(of: copy, to: status)
      try copy.synchronize()
      guard self.file.hasName(self.name, in: self.folder) else {
        throw VidiconError(
          .notFound, path: self.file.path, cause: "the file was moved or removed before it was finished",
          nextStep: "\"vidicon repair\" finishes it where it is now")
      }
      if !scan.damage.isEmpty { original = try self.keepOriginal() }
      guard renameat(self.folder.number, temporary, self.folder.number, self.name) == 0 else {
        throw VidiconError(errno: errno, path: self.file.path)
      }
    } catch {
      unlinkat(self.folder.number, temporary, 0)
      throw error
    }
    // The rename has succeeded; if it does not reach the disk, the fragmented file is still there after a crash.
    try? self.folder.synchronize()
    return FinishedRecording(
      path: self.file.path, duration: scan.movie.duration, byteCount: Int(clamping: length),
      lostByteCount: Int(clamping: scan.lostByteCount),
      damage: scan.damage.map {
        FinishedRecording.Damage(
          offset: Int(clamping: $0.range.lowerBound), byteCount: $0.range.count, lostDuration: $0.lostDuration)
      },
      original: original)
  }

  /// Links the damaged file under a free name beside it: `NAME.damaged.mp4`, `NAME.damaged-2.mp4`.
  ///
  /// - Returns: The path.
  private func keepOriginal() throws(VidiconError) -> String {
    let dot = self.name.lastIndex(of: ".").flatMap { $0 > self.name.startIndex ? $0 : nil } ?? self.name.endIndex
    let base = "\(self.name[..<dot])\(Self.damagedSuffix)\(self.name[dot...])"
    for number in 1...Self.maximumAttempts {
      let name = number == 1 ? base : FilePattern.numbered(base, number)
      // A repair that was interrupted has linked it already.
      if linkat(self.folder.number, self.name, self.folder.number, name, 0) == 0
        || self.file.hasName(name, in: self.folder)
      {
        return self.folder.path == "." ? name : "\(Folder.split(self.file.path).folder)/\(name)"
      }
      guard errno == EEXIST else { throw VidiconError(errno: errno, path: self.file.path) }
    }
    throw VidiconError(
      .alreadyExists, path: self.file.path, cause: "it is damaged, and there is no free name to keep the original",
      nextStep: "move the files with \(Self.damagedSuffix) in their names away")
  }

  /// Mark in the names of damaged files that are kept.
  static let damagedSuffix = ".damaged"

  /// Checks the free space for both files, so that a copy that cannot finish is not started.
  private func checkRoom(for length: UInt64) throws(VidiconError) {
    var system = statvfs()
    guard fstatvfs(self.folder.number, &system) == 0, system.f_blocks > 0 else { return }
    let (free, overflow) = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize))
    guard overflow || free >= length else {
      throw VidiconError(
        .noSpace, path: self.file.path, cause: "there is no room to finish the file, which plays as it is",
        nextStep: "free \((length >> 20) + 1) MB, then \"vidicon repair\" finishes it")
    }
  }

  private func makeTemporary(_ name: String) throws(VidiconError) -> FileDescriptor {
    // The lock of the fragmented file keeps out all others except the removal of leftover temporary files, which holds
    // a lock briefly and may have removed a file that was just created.
    for _ in 0..<Self.maximumAttempts {
      let copy = try FileDescriptor(
        name, O_RDWR | O_CREAT | O_NOFOLLOW, in: self.folder, subject: self.file.path)
      copy.waitForLock()
      guard copy.hasName(name, in: self.folder) else { continue }
      guard ftruncate(copy.number, 0) == 0 else { throw VidiconError(errno: errno, path: copy.path) }
      return copy
    }
    throw VidiconError(
      .failed, path: self.file.path, cause: "another program removes what is written beside it",
      nextStep: "\"vidicon repair\" finishes it when that has ended")
  }

  private static func setModificationTime(of copy: FileDescriptor, to status: stat) {
    #if canImport(Darwin)
    let times = [status.st_atimespec, status.st_mtimespec]
    #else
    let times = [status.st_atim, status.st_mtim]
    #endif
    _ = futimens(copy.number, times)
  }

  /// Copies bytes of the fragmented file inside the kernel.
  private func copy(_ range: Range<UInt64>, to copy: FileDescriptor, at offset: UInt64) throws(VidiconError) {
    #if canImport(Darwin)
    try self.copyThroughMemory(range, to: copy, at: offset)
    #else
    guard lseek(copy.number, off_t(offset), SEEK_SET) >= 0 else { throw VidiconError(errno: errno, path: copy.path) }
    var position = off_t(range.lowerBound)
    while position < range.upperBound {
      let result = sendfile(
        copy.number, self.file.number, &position, min(Int(range.upperBound) - position, Self.maximumCopy))
      if result < 0, errno == EINTR { continue }
      if result < 0, errno == EINVAL || errno == ENOSYS {
        return try self.copyThroughMemory(
          UInt64(position)..<range.upperBound, to: copy, at: offset + UInt64(position) - range.lowerBound)
      }
      guard result >= 0 else { throw VidiconError(errno: errno, path: copy.path) }
      guard result > 0 else { throw self.unreadable }
    }
    #endif
  }

  private func copyThroughMemory(
    _ range: Range<UInt64>, to copy: FileDescriptor, at offset: UInt64
  ) throws(VidiconError) {
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(range.upperBound - position, 1 << 20))
      guard let bytes = self.file.read(at: position, count: count), bytes.readableBytes == count else {
        throw self.unreadable
      }
      try copy.write(bytes, at: offset + (position - range.lowerBound))
      position += UInt64(count)
    }
  }

  private var unreadable: VidiconError {
    VidiconError(
      .failed, path: self.file.path, cause: "the recording cannot be read back", nextStep: "check the disk")
  }
}
