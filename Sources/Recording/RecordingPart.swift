internal import Containers
internal import Media
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

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

  /// The path as the user gave it.
  var path: String { self.file.path }

  /// Creates a file and writes the boxes before the fragments.
  init(_ created: File, head: ByteBuffer) throws(VidiconError) {
    (self.file, self.folder) = (created.file, created.folder)
    (self.name, self.finalName) = (created.name, created.finalName)
    self.head = head
    do throws(VidiconError) {
      try self.write(head)
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
  /// - Throws: ``VidiconError``; the file then ends with the previous fragment. `.notFound` when the file was moved or
  ///   removed.
  mutating func append(_ fragment: ByteBuffer, sampleCount: Int) throws(VidiconError) {
    var bytes = fragment
    if self.fragmentCount == 0 { HeadCopy(self.head).serialize(into: &bytes) }
    try self.write(bytes)
    self.head = ByteBuffer()
    self.fragmentCount += 1
    self.sampleCount += sampleCount
    try self.replaceOld()
    guard self.file.hasName(self.name, in: self.folder) else {
      throw VidiconError(
        .notFound, path: self.path, cause: "the file was moved or removed while it was recorded",
        nextStep: "start a new recording; if it was moved, \"vidicon repair\" finishes it")
    }
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
    guard result == 0 else { throw VidiconError(errno: failure, path: self.path) }
    self.name = finalName
    self.finalName = nil
    try self.folder.synchronize()
  }

  private mutating func write(_ bytes: ByteBuffer) throws(VidiconError) {
    do throws(VidiconError) {
      try self.file.write(bytes, at: self.length)
      try self.file.synchronizeData()
    } catch {
      ftruncate(self.file.number, off_t(self.length))
      throw error
    }
    self.length += UInt64(bytes.readableBytes)
  }

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
