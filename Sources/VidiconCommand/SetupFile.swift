import Foundation
import Media

/// The configuration file that `vidicon setup` writes, which only its owner reads: it has passwords.
struct SetupFile {
  /// Path of the file.
  var path: String

  /// Checks before a question that there is no file yet, unless it is replaced, and that it can be written.
  func check(isReplaced: Bool) throws(VidiconError) {
    if access(self.path, F_OK) == 0 {
      guard isReplaced else {
        throw VidiconError(
          .alreadyExists, path: self.path, cause: "there is a configuration already",
          nextStep: "change it by hand, or give --replace")
      }
    } else if errno != ENOENT {
      throw self.failure(errno)
    }
    // The file is renamed into its folder, and folders that are missing are made in the nearest one that exists.
    var folder = self.folder
    while access(folder, F_OK) != 0, errno == ENOENT, folder != "/", folder != "." { folder = Self.parent(of: folder) }
    guard access(folder, W_OK | X_OK) == 0 else { throw self.failure(errno) }
  }

  private var folder: String { Self.parent(of: self.path) }

  private static func parent(of path: String) -> String {
    let parent = (path as NSString).deletingLastPathComponent
    return parent.isEmpty ? "." : parent
  }

  /// Writes the file with mode 0600, in one step, into a folder that is made where it is missing, with mode 0700.
  func write(_ text: String) throws(VidiconError) {
    do {
      try FileManager.default.createDirectory(
        atPath: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw VidiconError(
        .failed, path: self.folder, cause: "it cannot be made (\(error.localizedDescription))",
        nextStep: "run it as root, or give --output FILE")
    }
    let part = "\(self.path).part"
    // One of an earlier run that was interrupted.
    unlink(part)
    let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw self.failure(errno) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: Data(text.utf8))
      try file.synchronize()
    } catch {
      unlink(part)
      throw self.failure(EIO)
    }
    guard rename(part, self.path) == 0 else {
      let number = errno
      unlink(part)
      throw self.failure(number)
    }
  }

  private func failure(_ number: Int32) -> VidiconError {
    VidiconError(
      number == EACCES || number == EPERM ? .notPermitted : .failed, path: self.path,
      cause: "it cannot be written (\(String(cString: strerror(number))))",
      nextStep: "run it as root, or give --output FILE")
  }
}
