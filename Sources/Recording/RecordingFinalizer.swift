internal import Containers
internal import Libc
internal import Media
internal import NIOCore
internal import Threading

/// Converts a fragmented MP4 file to a progressive one.
///
/// | file | conversion |
/// |------|------------|
/// | up to 16 MiB | copied, with its index first |
/// | larger, or without room for a copy | in place: the index is appended, and all before it becomes one `mdat` |
/// | not to be replaced while it is open | in place |
/// | larger, and full: no index fits behind it | copied, with its index first |
/// | damaged, or of an earlier version | copied; a damaged file stays under another name |
///
/// A copy is written beside the file under a temporary name, synchronized to disk, and renamed over it. In place, one
/// write of 8 bytes makes the file progressive:
///
/// ```
/// ftyp  free(16)  moov  free uuid  moof mdat  moof mdat …                       fragmented
/// ftyp  mdat( … all of the above … )                     moov  free uuid       progressive
/// ```
///
/// Until the rename or that write the file is the fragmented one, whatever fails.
struct RecordingFinalizer {
  /// The fragmented file; its lock is held.
  let file: FileDescriptor
  let folder: FileDescriptor
  let name: String
  /// Maximum number of bytes of media data that are copied where finishing in place is possible.
  var maximumCopiedByteCount = RecordingSettings.maximumCopiedByteCount
  /// Whether the file may be changed: not where another program may have it open.
  var mayFinishInPlace = true

  /// Maximum number of bytes copied per system call.
  private static let maximumCopy = 64 << 20
  /// Errors of rename(2) over a file that is open.
  private static let replacementRefusals: Set<Int32> = [EACCES, EPERM, EBUSY, EEXIST, ETXTBSY]

  /// Indexes the file's boxes and fragments. Where the head is damaged, its copy is read instead.
  ///
  /// - Returns: The error of a file that is not fragmented, or whose head is damaged.
  /// - Throws: ``VidiconError`` when the disk fails, so that it is not known what the file contains.
  func scan() throws(VidiconError) -> Result<MovieScan, ParsingError> {
    let isOwn = self.isOwn
    return try self.reading { (length, read) -> Result<MovieScan, ParsingError> in
      do throws(ParsingError) {
        let scan = try MovieScan(length: length, isOwn: isOwn, read: read)
        return .success(Self.healed(scan, isOwn: isOwn, length, read) ?? scan)
      } catch {
        // Progressive files of other programs are not searched for a copy.
        guard isOwn || error.field != "mvex", let copy = HeadCopy.find(length: length, read: read),
          let scan = try? MovieScan(length: length, head: copy.head, read: read), scan.fragmentCount > 0
        else { return .failure(error) }
        return .success(scan)
      }
    }
  }

  /// Scans again with the copy of the head, where the head can be read but differs from it, or fits no fragment.
  private static func healed(
    _ scan: MovieScan, isOwn: Bool, _ length: UInt64, _ read: @escaping MP4FileWalker.Read
  ) -> MovieScan? {
    // Without a copy, a head that does not name this program is another's. Bytes that damage has moved hide the copy.
    let isSearched = scan.fragmentCount == 0 || !isOwn || !scan.damage.isEmpty
    let copy = scan.headCopy ?? (isSearched ? HeadCopy.find(length: length, read: read)?.head : nil)
    guard let copy, let bytes = read(0, copy.readableBytes), HeadCopy.difference(copy, bytes) != nil else {
      return nil
    }
    return try? MovieScan(length: length, head: copy, read: read)
  }

  /// Reads the head again, of which a finished file keeps the identity.
  ///
  /// - Returns: Nil for a file of another program.
  /// - Throws: ``VidiconError`` when the disk fails.
  private func head(_ scan: MovieScan) throws(VidiconError) -> RecordingHead? {
    if let head = scan.replacedHead {
      return RecordingHead(length: UInt64(head.readableBytes)) { offset, count in
        head.getSlice(at: head.readerIndex + Int(offset), length: min(count, head.readableBytes - Int(offset)))
      }
    }
    return try self.reading { (length, read) in RecordingHead(length: length, read: read) }
  }

  /// Runs a function that reads the file.
  ///
  /// - Parameter body: Receives the length of the file, and a closure that reads bytes at an offset.
  /// - Throws: ``VidiconError`` when a read failed: what `body` returned is not known to be true then.
  private func reading<Result>(_ body: (UInt64, @escaping MP4FileWalker.Read) -> Result) throws(VidiconError) -> Result
  {
    let length = UInt64(clamping: try self.file.status().st_size)
    let failure = ReadFailure()
    let result = body(length) { [file] (offset: UInt64, count: Int) -> ByteBuffer? in
      let bytes = file.read(at: offset, count: count)
      // A short read inside of the file: another program truncates it.
      if bytes?.readableBytes != min(count, Int(clamping: length - min(offset, length))) {
        failure.number = bytes == nil ? errno : EIO
      }
      return bytes
    }
    if let number = failure.number {
      throw VidiconError(
        .failed, path: self.file.path,
        cause: "the disk fails while it is read (\(String(cString: strerror(number)))); nothing was changed",
        nextStep: "check the disk, or copy the file to another one and repair the copy")
    }
    return result
  }

  /// The last failure of a read.
  private final class ReadFailure {
    /// Value of `errno`; nil when all reads succeeded.
    var number: Int32?
  }

  /// Whether this program recorded the file: by its marker, or the box with the name of the encoder that it writes into
  /// `moov`; both are found in a head with damage elsewhere. Titles and comments may name this program in any file.
  var isOwn: Bool {
    if RecordingHead(of: self.file) != nil { return true }
    guard let head = self.file.read(at: 0, count: Self.headLength) else { return false }
    return head.withUnsafeReadableBytes { bytes in
      bytes.indices.contains { index in
        switch bytes[index] {
        case Self.encoderBox[0]: bytes[index...].starts(with: Self.encoderBox)
        case Self.markerStart[0]: bytes[index...].starts(with: Self.markerStart)
        default: false
        }
      }
    }
  }

  /// The type and content of the box `©too` in the files of this program: a `data` box with UTF-8.
  private static let encoderBox: [UInt8] = {
    let length = UInt8(16 + Self.encoder.utf8.count)
    return [0xA9] + Array("too".utf8) + [0, 0, 0, length] + Array("data".utf8) + [0, 0, 0, 1, 0, 0, 0, 0]
      + Array(Self.encoder.utf8)
  }()
  /// Type and first bytes of the content of ``RecordingMarker``.
  private static let markerStart = Array("freevidicon: ".utf8)

  /// Whether a `moof` box seems to be in the file, near its start.
  var hasFragments: Bool {
    guard let start = self.file.read(at: 0, count: Self.fragmentLength) else { return false }
    return start.withUnsafeReadableBytes { bytes in
      bytes.indices.contains { bytes[$0] == 0x6D && bytes[$0...].starts(with: "moof".utf8) }
    }
  }

  /// Number of bytes that are searched for a fragment; the first one is behind a head of some kilobytes.
  private static let fragmentLength = 1 << 20
  /// Name of the program in the metadata of its files.
  static let encoder = "Vidicon"
  /// Maximum number of bytes before the first fragment that are searched for ``encoder``.
  private static let headLength = 64 << 10

  /// Makes the file progressive; a damaged one is kept under another name.
  ///
  /// - Throws: ``VidiconError``; the fragmented file is then unchanged.
  func run(_ scan: MovieScan) throws(VidiconError) -> FinishedRecording {
    let head = try self.head(scan)
    let isInPlacePossible =
      self.mayFinishInPlace && scan.reserved != nil && scan.damage.isEmpty && self.file.isWritable && head != nil
    if isInPlacePossible,
      scan.movie.dataLength > UInt64(clamping: self.maximumCopiedByteCount)
        || !self.hasFreeSpace(for: scan.movie.dataLength),
      let finished = try self.finishInPlace(scan, head)
    {
      return finished
    }
    if let finished = try self.copy(scan, head, isInPlacePossible: isInPlacePossible) { return finished }
    // A full file would have been finished by the copy.
    guard let finished = try self.finishInPlace(scan, head) else {
      throw VidiconError(errno: EFBIG, path: self.file.path)
    }
    return finished
  }

  /// Appends the index, and turns everything before it into media data.
  ///
  /// - Returns: Nil where the file may not become so large, which is unchanged then. A copy has no tables of fragments.
  private func finishInPlace(
    _ scan: MovieScan, _ head: RecordingHead?
  ) throws(VidiconError) -> FinishedRecording? {
    guard let reserved = scan.reserved, let head else { return nil }
    let status = try self.file.status()
    var index = scan.movie.serializeIndex(of: scan.data)
    index.writeImmutableBuffer(
      RecordingHead.boxes(.finished, head.identity, head.creation))
    guard self.file.hasName(self.name, in: self.folder) else { throw self.moved }
    do throws(VidiconError) {
      // Bytes behind the recording: a torn fragment, or the index of an interrupted attempt.
      guard ftruncate(self.file.number, off_t(scan.end)) == 0 else {
        throw VidiconError(errno: errno, path: self.file.path)
      }
      guard try self.file.writeWithinLimit(index, at: scan.end) == index.readableBytes else {
        ftruncate(self.file.number, off_t(scan.end))
        return nil
      }
      // The size of mdat lies in the content of the free box until its header is replaced.
      try self.file.write(ByteBuffer(integer: scan.end - reserved.lowerBound), at: reserved.lowerBound + 8)
      try self.file.synchronizeData()
    } catch {
      ftruncate(self.file.number, off_t(scan.end))
      throw error
    }
    var header = ByteBuffer(integer: UInt32(1))
    header.writeInteger(("mdat" as FourCharacterCode).rawValue)
    try self.file.write(header, at: reserved.lowerBound)
    Self.setModificationTime(of: self.file, to: status)
    try self.file.synchronize()
    return self.result(scan, byteCount: scan.end + UInt64(index.readableBytes), original: nil)
  }

  private func result(_ scan: MovieScan, byteCount: UInt64, original: String?) -> FinishedRecording {
    FinishedRecording(
      path: self.file.path, duration: scan.movie.duration, byteCount: Int(clamping: byteCount),
      lostByteCount: Int(clamping: scan.lostByteCount),
      damage: scan.damage.map {
        FinishedRecording.Damage(
          offset: Int(clamping: $0.range.lowerBound), byteCount: $0.range.count, lostDuration: $0.lostDuration)
      },
      original: original)
  }

  private var moved: VidiconError {
    VidiconError(
      .notFound, path: self.file.path, cause: "the file was moved or removed before it was finished",
      nextStep: "\"vidicon repair\" finishes it where it is now")
  }

  /// Writes the progressive file and renames it over the fragmented one, which is kept under another name when it is
  /// damaged.
  ///
  /// - Returns: Nil where the disk does not replace a file that is open, as some SMB servers, and it can be finished in place.
  private func copy(
    _ scan: MovieScan, _ head: RecordingHead?, isInPlacePossible: Bool
  ) throws(VidiconError) -> FinishedRecording? {
    let status = try self.file.status()
    let start = scan.movie.serializeStart(
      note: RecordingHead.boxes(.finished, head?.identity, head?.creation ?? RecordingCreation()))
    let length = UInt64(start.readableBytes) + scan.movie.dataLength
    try self.checkFreeSpace(for: length)

    let (copy, temporary) = try TemporaryFile.make(in: self.folder, subject: self.file.path)
    var original: Original?
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
      guard self.file.hasName(self.name, in: self.folder) else { throw self.moved }
      if !scan.damage.isEmpty { original = try self.keepOriginal() }
      if renameat(self.folder.number, temporary, self.folder.number, self.name) != 0 {
        let failure = errno
        guard isInPlacePossible, Self.replacementRefusals.contains(failure) else {
          throw VidiconError(errno: failure, path: self.file.path)
        }
        unlinkat(self.folder.number, temporary, 0)
        return nil
      }
    } catch {
      if let original, original.isRenamed {
        _ = ExclusiveName.give(self.name, to: original.name, in: self.folder.number)
      }
      unlinkat(self.folder.number, temporary, 0)
      throw error
    }
    // The rename has succeeded; if it does not reach the disk, the fragmented file is still there after a crash.
    try? self.folder.synchronize()
    let folder = self.folder.path == "." ? "" : Folder.split(self.file.path).folder + "/"
    return self.result(scan, byteCount: length, original: original.map { folder + $0.name })
  }

  /// The damaged file under its new name.
  private struct Original {
    var name: String
    /// Whether it has lost its old name, on disks without hard links.
    var isRenamed: Bool
  }

  /// Gives the damaged file a free name beside it: `NAME.damaged.mp4`, `NAME.damaged-2.mp4`. On disks without hard links
  /// (``ExclusiveName``) it is renamed, so that after a crash at that moment it has that name only.
  private func keepOriginal() throws(VidiconError) -> Original {
    let dot = self.name.lastIndex(of: ".").flatMap { $0 > self.name.startIndex ? $0 : nil } ?? self.name.endIndex
    let base = "\(self.name[..<dot])\(Self.damagedSuffix)\(self.name[dot...])"
    var number = 1
    while true {
      let name = number == 1 ? base : FilePattern.numbered(base, number)
      switch ExclusiveName.give(name, to: self.name, in: self.folder.number) {
      case .linked: return Original(name: name, isRenamed: false)
      case .renamed: return Original(name: name, isRenamed: true)
      case .taken:
        // A repair that was interrupted has linked it already.
        if self.file.hasName(name, in: self.folder) { return Original(name: name, isRenamed: false) }
        number += 1
      case .failed(let error): throw VidiconError(errno: error, path: self.file.path, isNewName: true)
      }
    }
  }

  /// Mark in the names of damaged files that are kept.
  static let damagedSuffix = ".damaged"

  /// Whether the disk has free space for a copy.
  private func hasFreeSpace(for length: UInt64) -> Bool {
    DiskSpace(of: self.folder).map { $0.free >= length } ?? true
  }

  /// Checks the free space for both files, so that a copy that cannot finish is not started.
  private func checkFreeSpace(for length: UInt64) throws(VidiconError) {
    guard !self.hasFreeSpace(for: length) else { return }
    throw VidiconError(
      .noSpace, path: self.file.path, cause: "there is no room to finish the file, which plays as it is",
      nextStep: "free \((length >> 20) + 1) MB, then \"vidicon repair\" finishes it")
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
      if result < 0, errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP {
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
