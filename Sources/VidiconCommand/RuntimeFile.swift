import Foundation
import Media

/// A file of a running server that only its user reads and writes, in the folder `vidicon` of the user's runtime folder.
struct RuntimeFile: Sendable {
  /// Maximum size, in bytes.
  private static let maximumBytes = 512

  /// Path of the file.
  let path: String
  /// The content, to recognize a file that another server has replaced.
  private let text: String

  /// Writes a new file in place of one of the same name, which may have other permissions, or be a link.
  ///
  /// - Throws: The system's error; `EPERM` for a folder of another user or one that others can write to.
  init(
    name: String, text: String, environment: [String: String] = ProcessInfo.processInfo.environment,
    user: uid_t = getuid()
  ) throws {
    let path = "\(try Self.makeFolder(environment: environment, user: user))/\(name)"
    unlink(path)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    try handle.write(contentsOf: Data(text.utf8))
    self.path = path
    self.text = text
  }

  /// Removes the file, unless another server has replaced it.
  func remove() {
    guard let text = try? String(contentsOfFile: self.path, encoding: .utf8), text == self.text else { return }
    unlink(self.path)
  }

  /// The folder of the files, with mode 0700.
  ///
  /// - Throws: The system's error; `EPERM` for a link, a folder of another user, and one that others can write to.
  private static func makeFolder(environment: [String: String], user: uid_t) throws -> String {
    let folder = Self.folder(environment: environment, user: user)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var status = stat()
    guard lstat(folder, &status) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == user, status.st_mode & 0o022 == 0 else {
      throw POSIXError(.EPERM)
    }
    // One that was made by others than this program.
    if status.st_mode & 0o777 != 0o700, chmod(folder, 0o700) != 0 { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return folder
  }

  /// The folder for a new file: the first that can be written to, or the last.
  private static func folder(environment: [String: String], user: uid_t) -> String {
    let folders = Self.folders(environment: environment, user: user)
    return folders.first { access(($0 as NSString).deletingLastPathComponent, W_OK) == 0 } ?? folders[folders.count - 1]
  }

  /// The folders where servers of a user may have their files: the runtime folder, then the state folder, which a server
  /// started by a service manager may have instead.
  static func folders(environment: [String: String], user: uid_t) -> [String] {
    func path(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let state = path("XDG_STATE_HOME") ?? (environment["HOME"] ?? NSHomeDirectory()) + "/.local/state"
    return [path("XDG_RUNTIME_DIR") ?? "/run/user/\(user)", state].map { $0 + "/vidicon" }
  }

  /// The folder of the package's service, whose unit has `XDG_RUNTIME_DIR=%t/vidicon`. The user of that service, which systemd makes for
  /// each run, and root may read it.
  static let serviceFolder = "/run/vidicon/vidicon"

  /// The user whose folder it is; nil where there is none, and for a link and a folder that others can write to.
  static func owner(ofFolder folder: String) -> uid_t? {
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_mode & 0o022 == 0 else {
      return nil
    }
    return status.st_uid
  }

  /// The contents of a user's files in folders, by the number behind a prefix of their names.
  ///
  /// - Throws: ``VidiconError`` for a file that others can read or replace.
  static func contents(
    prefix: String, in folders: [String], of user: uid_t
  ) throws(VidiconError) -> [Int: (text: String, path: String)] {
    var contents: [Int: (text: String, path: String)] = [:]
    for folder in folders {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), contents[number] == nil else {
          continue
        }
        let path = "\(folder)/\(name)"
        contents[number] = (try Self.read(path, user: user), path)
      }
    }
    return contents
  }

  /// Reads a file that only its user reads and writes.
  private static func read(_ path: String, user: uid_t) throws(VidiconError) -> String {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw VidiconError(.failed, subject: path, cause: "\(String(cString: strerror(errno)))", nextStep: "remove it")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == user,
      status.st_mode & 0o077 == 0, let data = try? file.read(upToCount: Self.maximumBytes),
      let text = String(validating: data, as: UTF8.self)
    else {
      throw VidiconError(
        .failed, subject: path, cause: "it is not a file that only its user reads", nextStep: "remove it")
    }
    return text
  }
}
