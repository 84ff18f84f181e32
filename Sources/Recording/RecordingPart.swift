internal import Media
internal import NIOCore

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A file that is being recorded: whole fragments only, each on the disk before the next is written.
///
/// It has its final name from the start, since it plays at any time. Its lock tells others that it is not a leftover.
struct RecordingPart: Sendable {
  let file: FileDescriptor
  let folder: FileDescriptor
  let name: String
  /// Where the next fragment goes.
  private(set) var length: UInt64 = 0
  /// Where fragments begin.
  private(set) var headLength: UInt64 = 0

  /// As its user names it.
  var path: String { self.file.path }

  /// Makes a file and writes what stands before the fragments.
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

  /// Whether there is anything to play.
  var isEmpty: Bool { self.length == self.headLength }

  /// Writes a fragment and waits until it is on the disk.
  ///
  /// - Throws: ``VidiconError``; then the file ends with the fragment before. `.notFound` when the file has lost its
  ///   name: it was moved or removed.
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

  /// Removes the file, if the name is still its own.
  func remove() {
    if self.file.hasName(self.name, in: self.folder) { unlinkat(self.folder.number, self.name, 0) }
  }
}
