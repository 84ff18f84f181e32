internal import Containers
internal import Media
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Converts a fragmented MP4 file to a progressive one, in its place.
///
/// The new file is written beside the old one under a name that no recording has, brought to the disk, and then takes the
/// old one's name in one step. Until then the old file is as it was; what a crash leaves is removed by the next repair.
struct RecordingFinalizer {
  /// The fragmented file, locked.
  let file: FileDescriptor
  let folder: FileDescriptor
  let name: String

  /// The names of files in the making.
  private static let temporaryName = (prefix: ".vidicon-", suffix: ".tmp")
  /// How often a file in the making is made again.
  private static let maximumAttempts = 100
  /// What is copied in one call.
  private static let maximumCopy = 64 << 20

  /// Whether a name is that of a file in the making.
  static func isTemporary(_ name: String) -> Bool {
    name.hasPrefix(self.temporaryName.prefix) && name.hasSuffix(self.temporaryName.suffix)
  }

  /// What the file holds.
  ///
  /// - Throws: ``ParsingError`` when it is not a fragmented file.
  func scan() throws(ParsingError) -> MovieScan {
    let length = (try? self.file.status().st_size) ?? 0
    return try MovieScan(length: UInt64(clamping: length)) { [file] in file.read(at: $0, count: $1) }
  }

  /// Writes the finished file and puts it in the place of the fragmented one.
  ///
  /// - Throws: ``VidiconError``; then the fragmented file is as it was.
  func run(_ scan: MovieScan) throws(VidiconError) -> FinishedRecording {
    let status = try self.file.status()
    let start = scan.movie.serializeStart(note: RecordingMarker.finished.box)
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
      // The new file has the owner, rights and age of the old one, as far as this is allowed.
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
    // The rename is done; that the disk does not know it yet loses nothing.
    try? self.folder.synchronize()
    return FinishedRecording(
      path: self.file.path, duration: scan.movie.duration, byteCount: Int(clamping: length),
      lostByteCount: Int(clamping: UInt64(clamping: status.st_size) - min(scan.end, UInt64(clamping: status.st_size))))
  }

  /// Both files are there for a while; a copy that cannot end is not begun.
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
    // Who has the lock of the fragmented file is alone here, but for those who clear away what crashes left: these hold
    // a lock for a moment, and may have removed a file that was just made.
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

  /// Copies bytes of the fragmented file without taking them into this process.
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
