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
  /// - Throws: ``ParsingError`` when it is not a fragmented file.
  func scan() throws(ParsingError) -> MovieScan {
    let length = (try? self.file.status().st_size) ?? 0
    return try MovieScan(length: UInt64(clamping: length)) { [file] in file.read(at: $0, count: $1) }
  }

  /// Writes the progressive file and renames it over the fragmented one.
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
      lostByteCount: Int(clamping: UInt64(clamping: status.st_size) - min(scan.end, UInt64(clamping: status.st_size))))
  }

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
