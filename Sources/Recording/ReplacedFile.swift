internal import Libc
internal import Media

/// An existing file that a recording is to replace, locked where its file system has locks.
struct ReplacedFile {
  let file: FileDescriptor
  let lock: FileDescriptor.Lock
  private let folder: FileDescriptor

  /// Opens and locks a file.
  ///
  /// - Throws: ``VidiconError``, of code `.notFound` where there is none.
  init(_ name: String, in folder: FileDescriptor) throws(VidiconError) {
    self.file = try Self.open(name, in: folder)
    self.lock = self.file.lock()
    self.folder = folder
  }

  /// NFS has exclusive locks of files that are open for writing only; a file may be replaced that must not be written.
  private static func open(_ name: String, in folder: FileDescriptor) throws(VidiconError) -> FileDescriptor {
    do throws(VidiconError) {
      return try FileDescriptor(name, O_RDWR | O_NONBLOCK | O_NOFOLLOW, in: folder)
    } catch  where error.code != .notFound {
      return try FileDescriptor(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, in: folder)
    }
  }

  /// Reason why the file must not be replaced now: it is being written, or may be; nil where it may be replaced.
  var refusal: VidiconError? {
    Self.refusal(
      of: self.file.path, lock: self.lock, mark: RecordingHead(of: self.file)?.mark,
      isAtRest: FileActivity.isAtRest(self.file, in: self.folder))
  }

  /// - Parameters:
  ///   - mark: The marker of a file of this program; nil for others, and where the disk fails.
  ///   - isAtRest: Whether the file was not written recently, see ``FileActivity``.
  static func refusal(
    of path: String, lock: FileDescriptor.Lock, mark: @autoclosure () -> RecordingMarker?,
    isAtRest: @autoclosure () -> Bool
  ) -> VidiconError? {
    switch lock {
    case .acquired: return nil
    case .taken:
      return VidiconError(
        .busy, path: path, cause: "another recording is writing it", nextStep: "stop that one, or give another name")
    case .unknown:
      if let mark = mark(), mark != .open { return nil }
      if isAtRest() { return nil }
      return VidiconError(
        .busy, path: path,
        cause: "it is no finished recording, was written less than a minute ago, and its file system has no locks",
        nextStep: "try again in a minute, remove it, or give another name")
    }
  }
}
