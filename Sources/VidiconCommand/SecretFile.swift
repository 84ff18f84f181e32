import Foundation
import Media

/// A file of keys or tokens, which must be the user's own, or root's, and readable by its owner only. With sudo it may also be that of the
/// user that has run sudo.
struct SecretFile {
  /// Maximum size in bytes.
  private static let maximumSize = 1 << 20

  /// The option that names the file, for messages.
  var option: String
  /// Kind of secrets in the file, for messages.
  var secrets: String
  /// The next step where it is no text.
  var form: String

  /// Reads the file; no error quotes its text.
  ///
  /// - Parameter user: The user whose file, or root's, it may be.
  func text(of path: String, user: uid_t = geteuid()) throws(VidiconError) -> String {
    // The checked file is the one that is read, whatever becomes of the path meanwhile.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      let cause = String(cString: strerror(errno)).lowercased()
      throw VidiconError(.notFound, path: path, cause: cause, nextStep: "check the path of \(self.option)")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw VidiconError(
        .notPermitted, path: path, cause: "it is not a regular file", nextStep: "check the path of \(self.option)")
    }
    guard Self.isTrusted(owner: status.st_uid, user: user) else {
      throw VidiconError(
        .notPermitted, path: path, cause: "another user of this machine owns it, and can change it",
        nextStep: "make it your own")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw VidiconError(
        .notPermitted, path: path, cause: "other users can read it, and it has \(self.secrets)",
        nextStep: "change that with chmod 600")
    }
    guard let data = try? FileHandle(fileDescriptor: descriptor).read(upToCount: Self.maximumSize + 1) ?? Data(),
      data.count <= Self.maximumSize, var text = String(validating: data, as: UTF8.self)
    else {
      throw VidiconError(
        .invalidData, path: path, cause: "it is not UTF-8 text of at most 1 MiB", nextStep: self.form)
    }
    if text.hasPrefix("\u{FEFF}") { text.unicodeScalars.removeFirst() }
    return text
  }

  /// Whether a user may use the file of an owner: the own one, root's, and as root that of the user that has run sudo(8).
  static func isTrusted(
    owner: uid_t, user: uid_t, environment: [String: String] = ProcessInfo.processInfo.environment
  ) -> Bool {
    owner == user || owner == 0 || user == 0 && environment["SUDO_UID"].flatMap { uid_t($0) } == owner
  }
}
