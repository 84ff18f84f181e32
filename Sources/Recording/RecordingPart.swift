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
  let file: FileDescriptor
  let folder: FileDescriptor
  let name: String
  /// Offset of the next fragment.
  private(set) var length: UInt64 = 0
  /// Offset of the first fragment.
  private(set) var headLength: UInt64 = 0

  /// The path as the user gave it.
  var path: String { self.file.path }

  /// Creates a file and writes the boxes before the fragments.
  init(_ file: FileDescriptor, folder: FileDescriptor, name: String, head: ByteBuffer) throws(VidiconError) {
    (self.file, self.folder, self.name) = (file, folder, name)
    do throws(VidiconError) {
      try self.append(head)
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
  /// - Throws: ``VidiconError``; the file then ends with the previous fragment. `.notFound` when the file was moved or
  ///   removed.
  mutating func append(_ bytes: ByteBuffer) throws(VidiconError) {
    do throws(VidiconError) {
      try self.file.write(bytes, at: self.length)
      try self.file.synchronizeData()
    } catch {
      ftruncate(self.file.number, off_t(self.length))
      throw error
    }
    self.length += UInt64(bytes.readableBytes)
    guard self.file.hasName(self.name, in: self.folder) else {
      throw VidiconError(
        .notFound, path: self.path, cause: "the file was moved or removed while it was recorded",
        nextStep: "start a new recording; if it was moved, \"vidicon repair\" finishes it")
    }
  }

  /// Removes the file, unless its name now belongs to another file.
  func remove() {
    if self.file.hasName(self.name, in: self.folder) { unlinkat(self.folder.number, self.name, 0) }
  }
}
