import Authentication
import Foundation
import Media
import Serving

/// Reads the user file, and reads it again when it changes.
struct UserFileMonitor: Sendable {
  /// Change of the file since the last check.
  enum Change {
    /// The file has changed and was read again.
    case users(UserFile)
    /// The file is missing or invalid: a sentence for the owner.
    case problem(String)
  }

  /// Interval at which the file is checked for changes.
  private static let interval = Duration.seconds(1)

  private let path: String
  /// The user of this process; the file must be its own, or root's.
  private let user: uid_t
  /// The version that was last looked at; nil before the first one, and while the file is missing.
  private var version: FileVersion?
  private var isMissing = false

  /// A monitor of a file that has not been read.
  ///
  /// - Parameter user: The user whose file, or root's, it may be.
  init(path: String, user: uid_t = geteuid()) {
    self.path = path
    self.user = user
  }

  /// Reads the file.
  ///
  /// - Throws: A failure that names the file and the line, never the content.
  mutating func read() throws(VidiconError) -> UserFile {
    let descriptor = open(self.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw VidiconError(
        .failed, path: self.path, cause: "\(String(cString: strerror(errno)))",
        nextStep: "check the path of --user-file")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw VidiconError(
        .failed, path: self.path, cause: "it is not a regular file", nextStep: "check the path of --user-file")
    }
    let version = FileVersion(status)
    self.version = version
    guard status.st_uid == self.user || status.st_uid == 0 else {
      throw VidiconError(
        .failed, path: self.path, cause: "another user of this machine owns it, and can change it",
        nextStep: "make it your own")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw VidiconError(
        .failed, path: self.path, cause: "other users of this machine can read it", nextStep: "run chmod 600 on it")
    }
    let data: Data
    do {
      data = try FileHandle(fileDescriptor: descriptor).read(upToCount: UserFile.maximumBytes + 1) ?? Data()
    } catch {
      throw VidiconError(
        .failed, path: self.path, cause: "it cannot be read (\(error.localizedDescription))",
        nextStep: "check the path of --user-file")
    }
    // Written meanwhile: it is looked at again.
    if fstat(descriptor, &status) != 0 || FileVersion(status) != version { self.version = nil }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw VidiconError(.failed, path: self.path, cause: "it is not UTF-8 text", nextStep: "see docs/access.md")
    }
    do throws(ParsingError) {
      return try UserFile(parsing: text)
    } catch {
      throw VidiconError(
        .failed, path: self.path, cause: "\(error)", nextStep: "see docs/access.md for the form of a line")
    }
  }

  /// Reads the file when it has changed since the last call; nil when it has not. A file that is missing or wrong changes no
  /// user, so that watching stays protected, and is reported once.
  mutating func poll() -> Change? {
    var status = stat()
    guard stat(self.path, &status) == 0 else {
      let reason = String(cString: strerror(errno))
      if self.isMissing { return nil }
      (self.isMissing, self.version) = (true, nil)
      return .problem("\(self.path.pathWithoutCredentials()): \(reason); the users stay as they were")
    }
    self.isMissing = false
    guard FileVersion(status) != self.version else { return nil }
    // Also where it cannot be opened.
    self.version = FileVersion(status)
    do throws(VidiconError) {
      return .users(try self.read())
    } catch {
      return .problem("\(error); the users stay as they were")
    }
  }

  /// Reads the file whenever it changes, until the task is cancelled.
  mutating func run(_ apply: (UserFile) -> Void) async {
    while (try? await Task.sleep(for: Self.interval)) != nil {
      switch self.poll() {
      case .users(let file):
        apply(file)
        let path = self.path.pathWithoutCredentials()
        Terminal.log(
          LogEvent(.usersChanged, .notice, fields: ["path": path], message: "\(path): the users have changed"))
      case .problem(let text): Terminal.log(LogEvent(.usersFailed, message: text))
      case nil: break
      }
    }
  }
}
