import Foundation
import Media

/// The configuration file that `vidicon setup` writes, which only its owner reads: it has passwords.
struct SetupFile {
  /// Path of the file.
  var path: String

  /// Checks that there is no file yet, unless it is replaced.
  func check(isReplaced: Bool) throws(VidiconError) {
    guard !isReplaced, access(self.path, F_OK) == 0 else { return }
    throw VidiconError(
      .alreadyExists, path: self.path, cause: "there is a configuration already",
      nextStep: "change it by hand, or give --replace")
  }

  /// Writes the file with mode 0600, in one step, into a folder that is made where it is missing, with mode 0700.
  func write(_ text: String) throws(VidiconError) {
    let folder = (self.path as NSString).deletingLastPathComponent
    if !folder.isEmpty {
      // A failure is reported by opening the file, which then fails as well.
      try? FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
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
