internal import Libc
internal import Media

/// Files with random names beside a recording, locked while they are in use; repairs remove unlocked ones.
enum TemporaryFile {
  private static let prefix = ".vidicon-"
  private static let suffix = ".tmp"
  /// Maximum number of attempts to create a file.
  private static let maximumAttempts = 100

  /// Whether a name is that of a temporary file.
  static func isName(_ name: String) -> Bool {
    name.hasPrefix(self.prefix) && name.hasSuffix(self.suffix)
  }

  /// Creates a file, and locks it where the file system has locks.
  ///
  /// - Parameter subject: The path that errors name.
  static func make(in folder: FileDescriptor, subject: String) throws(VidiconError) -> (FileDescriptor, name: String) {
    for _ in 0..<Self.maximumAttempts {
      let name = "\(Self.prefix)\(String(UInt64.random(in: 0...(.max)), radix: 36))\(Self.suffix)"
      let file: FileDescriptor
      do throws(VidiconError) {
        file = try FileDescriptor(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder, subject: subject)
      } catch  where error.code == .alreadyExists {
        continue
      }
      // A repair may have found the file before it was locked.
      if file.lock() != .taken, file.hasName(name, in: folder) { return (file, name) }
    }
    throw VidiconError(
      .failed, path: subject, cause: "another program removes what is written beside it",
      nextStep: "\"vidicon repair\" finishes it when that has ended")
  }

  /// Removes the files that are not in use.
  static func removeAll(in path: String) {
    let names = Folder.names(in: path).filter(Self.isName)
    guard !names.isEmpty, let folder = try? FileDescriptor(path, O_RDONLY | O_DIRECTORY) else { return }
    for name in names {
      // Before the lock was acquired, another process may have taken over the name.
      if let file = try? FileDescriptor(name, O_RDWR | O_NONBLOCK | O_NOFOLLOW, in: folder), file.lock() == .acquired,
        file.hasName(name, in: folder)
      {
        unlinkat(folder.number, name, 0)
      }
    }
  }
}
