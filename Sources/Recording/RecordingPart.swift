internal import CSystemCalls
internal import Containers
internal import Libc
internal import Media
internal import NIOCore

/// File that is being recorded: contains complete fragments only, each synchronized to disk before the next is
/// written.
///
/// The file has its final name from the start, since it is playable at any time. Its lock shows other processes that
/// it is in use.
struct RecordingPart: Sendable {
  /// A created file, and its names.
  struct File: Sendable {
    var file: FileDescriptor
    var folder: FileDescriptor
    /// Current name.
    var name: String
    /// Name from the first fragment on, which replaces an existing file; nil where `name` is final.
    var finalName: String?
  }

  let file: FileDescriptor
  let folder: FileDescriptor
  private(set) var name: String
  private var finalName: String?
  /// Offset of the next fragment.
  private(set) var length: UInt64 = 0
  /// Offset of the first fragment.
  private(set) var headLength: UInt64 = 0
  /// Written once more behind the first fragment; empty from then on.
  private var head: ByteBuffer
  private(set) var fragmentCount = 0
  private(set) var sampleCount = 0
  /// Maximum size of the file, in bytes, as far as it is known.
  private(set) var maximumLength: UInt64

  /// The path as the user gave it.
  var path: String { self.file.path }

  /// Creates a file and writes the boxes before the fragments.
  ///
  /// - Parameter maximumLength: Maximum size of a file, in bytes, that an earlier part has found.
  init(_ created: File, head: ByteBuffer, maximumLength: UInt64 = .max) throws(VidiconError) {
    (self.file, self.folder) = (created.file, created.folder)
    self.maximumLength = min(maximumLength, vidicon_file_size_limit(created.folder.number))
    (self.name, self.finalName) = (created.name, created.finalName)
    self.head = head
    do throws(VidiconError) {
      guard try self.write(head) else { throw self.tooSmall }
      self.headLength = self.length
      try folder.synchronize()
    } catch {
      self.remove()
      throw error
    }
  }

  /// Whether the file contains no fragment.
  var isEmpty: Bool { self.length == self.headLength }

  /// Appends a fragment and waits until it is on disk.
  ///
  /// - Parameter sampleCount: Number of samples in it.
  /// - Returns: False where the file is full: with the fragment, and the index of a finished file, it would be larger than the
  ///   process or the file system allows. It then ends with the previous fragment.
  /// - Throws: ``VidiconError``; the file then ends with the previous fragment. `.notFound` when the file was moved or
  ///   removed.
  mutating func append(_ fragment: ByteBuffer, sampleCount: Int) throws(VidiconError) -> Bool {
    var bytes = fragment
    if self.fragmentCount == 0 { HeadCopy(self.head).serialize(into: &bytes) }
    let length = self.length + UInt64(bytes.readableBytes)
    let index = self.indexLength(sampleCount: self.sampleCount + sampleCount, fragmentCount: self.fragmentCount + 1)
    // A first fragment without room for the index is better than none.
    guard self.isEmpty || length + index <= self.maximumLength else { return false }
    guard try self.write(bytes) else { return false }
    self.head = ByteBuffer()
    self.fragmentCount += 1
    self.sampleCount += sampleCount
    try self.replaceOld()
    guard self.file.hasName(self.name, in: self.folder) else {
      throw VidiconError(
        .notFound, path: self.path, cause: "the file was moved or removed while it was recorded",
        nextStep: "start a new recording; if it was moved, \"vidicon repair\" finishes it")
    }
    return true
  }

  /// Reads bytes of fragments back.
  ///
  /// - Throws: ``VidiconError`` where the disk does not return all of them.
  func read(_ range: Range<UInt64>) throws(VidiconError) -> ByteBuffer {
    let bytes = self.file.read(at: range.lowerBound, count: range.count)
    guard let bytes, bytes.readableBytes == range.count else {
      throw self.differs("\(bytes?.readableBytes ?? 0) of \(range.count) bytes")
    }
    return bytes
  }

  /// Maximum length of the index of the finished file, in bytes: the boxes of the head, and the sample tables of two tracks.
  private func indexLength(sampleCount: Int, fragmentCount: Int) -> UInt64 {
    // Per sample, stts 8, ctts 8, stsz 4, stss 4; per fragment and track, co64 8, stsc 12.
    self.headLength + 1024 + UInt64(clamping: sampleCount) * 24 + UInt64(clamping: fragmentCount) * 2 * 20
  }

  /// Whether another file has room for the last fragments, and for its index.
  ///
  /// - Parameter earlier: This part as it was before these fragments.
  func canMoveFragments(since earlier: RecordingPart) -> Bool {
    let index = self.indexLength(
      sampleCount: self.sampleCount - earlier.sampleCount, fragmentCount: self.fragmentCount - earlier.fragmentCount)
    // The head, and its copy behind the first fragment.
    return 2 * self.headLength + 1024 + (self.length - earlier.length) + index <= self.maximumLength
  }

  /// Replaces the last fragments by the start of the first of them; another part contains the rest.
  ///
  /// The new fragment is written before the file is truncated, so that a crash of the process between both loses nothing.
  ///
  /// - Parameters:
  ///   - earlier: This part as it was before these fragments.
  ///   - fragment: Shorter than what it replaces; empty for none.
  mutating func replaceFragments(
    since earlier: RecordingPart, by fragment: ByteBuffer, sampleCount: Int
  ) throws(VidiconError) {
    var bytes = fragment
    let isEmpty = fragment.readableBytes == 0
    if !isEmpty, earlier.fragmentCount == 0 { HeadCopy(earlier.head).serialize(into: &bytes) }
    try self.file.write(bytes, at: earlier.length)
    let length = earlier.length + UInt64(bytes.readableBytes)
    guard ftruncate(self.file.number, off_t(length)) == 0 else { throw VidiconError(errno: errno, path: self.path) }
    try self.file.synchronizeData()
    self.length = length
    self.head = isEmpty ? earlier.head : ByteBuffer()
    self.fragmentCount = earlier.fragmentCount + (isEmpty ? 0 : 1)
    self.sampleCount = earlier.sampleCount + sampleCount
  }

  /// Renames this file to the name of the one that it overwrites, once there is something to replace that.
  ///
  /// - Throws: ``VidiconError`` where the old file is being written, or may be: both files stay.
  private mutating func replaceOld() throws(VidiconError) {
    guard let finalName = self.finalName else { return }
    var old: ReplacedFile?
    do throws(VidiconError) {
      old = try ReplacedFile(finalName, in: self.folder)
    } catch  where error.code == .notFound {}
    if let refusal = old?.refusal { throw refusal }
    let result = renameat(self.folder.number, self.name, self.folder.number, finalName)
    let failure = errno
    // The lock is held until the name is this file's.
    withExtendedLifetime(old) {}
    guard result == 0 else { throw VidiconError(errno: failure, path: self.path, isNewName: true) }
    self.name = finalName
    self.finalName = nil
    try self.folder.synchronize()
  }

  /// Writes bytes at the end, and waits until they are on disk.
  ///
  /// - Returns: False where the file may not become so large, which is unchanged then.
  private mutating func write(_ bytes: ByteBuffer) throws(VidiconError) -> Bool {
    do throws(VidiconError) {
      let written = try self.file.writeWithinLimit(bytes, at: self.length)
      guard written == bytes.readableBytes else {
        self.maximumLength = min(self.maximumLength, self.length + UInt64(written))
        ftruncate(self.file.number, off_t(self.length))
        return false
      }
      try self.file.synchronizeData()
    } catch {
      ftruncate(self.file.number, off_t(self.length))
      throw error
    }
    self.length += UInt64(bytes.readableBytes)
    return true
  }

  /// The error of a file that may not contain a single fragment.
  var tooSmall: VidiconError { VidiconError(errno: EFBIG, path: self.path) }

  /// Compares what is read back with what was written.
  ///
  /// - Throws: ``VidiconError`` when a byte, fragment or sample is missing.
  func check(_ scan: MovieScan) throws(VidiconError) {
    guard scan.isClean, scan.end == self.length, scan.fragmentCount == self.fragmentCount,
      scan.movie.sampleCount == self.sampleCount
    else {
      throw self.differs(
        "\(scan.fragmentCount) of \(self.fragmentCount) fragments, \(scan.movie.sampleCount) of \(self.sampleCount) "
          + "samples, \(scan.end) of \(self.length) bytes")
    }
  }

  /// The error of a file that is not as it was written.
  func differs(_ found: String) -> VidiconError {
    VidiconError(
      .failed, path: self.path,
      cause: "what is read back is not what was recorded (\(found)); the file was not changed",
      nextStep: "check the disk, then \"vidicon repair\" saves every whole fragment")
  }

  /// Removes the file, unless its name now belongs to another file.
  func remove() {
    if self.file.hasName(self.name, in: self.folder) { unlinkat(self.folder.number, self.name, 0) }
  }
}
