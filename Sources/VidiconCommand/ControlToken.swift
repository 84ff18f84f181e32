import Authentication
import CaptureDevices
import Foundation

/// The operator token of a running server, in a file that only its user reads.
///
/// `curl` and `vidicon` commands of the same user find it: `$XDG_RUNTIME_DIR/vidicon/control-PORT`.
struct ControlToken: Sendable {
  /// The token.
  let secret: Secret
  /// Path of the file; nil when it could not be written.
  let path: String?

  /// Writes the token to its file.
  ///
  /// - Parameter port: The port of HTTP, which differs between the servers of a machine.
  init(_ secret: Secret, port: Int) {
    self.secret = secret
    do {
      let folder = try Self.makeFolder()
      let path = "\(folder)/control-\(port)"
      // A new file is created, since an existing one may have other permissions, or be a link.
      unlink(path)
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      try handle.write(contentsOf: Data(secret.text.utf8))
      self.path = path
    } catch {
      Terminal.warn("the control token is not in a file (\(error.localizedDescription)); copy it from the terminal")
      self.path = nil
    }
  }

  /// Removes the file.
  func remove() {
    if let path { unlink(path) }
  }

  /// The folder of the files, created with mode 0700.
  ///
  /// - Throws: The system's error; `EPERM` for a folder of another user or one that others can write to.
  private static func makeFolder() throws -> String {
    let folder = Self.folder(environment: ProcessInfo.processInfo.environment, user: getuid())
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    var status = stat()
    guard lstat(folder, &status) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    guard status.st_uid == getuid(), status.st_mode & 0o022 == 0 else { throw POSIXError(.EPERM) }
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

  /// The tokens of a user's servers by HTTP port. A server that was killed leaves its own.
  ///
  /// - Throws: ``Failure`` for a file that others can read or replace.
  static func find(environment: [String: String], user: uid_t) throws(Failure) -> [Int: String] {
    var tokens: [Int: String] = [:]
    for folder in Self.folders(environment: environment, user: user) {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
        guard name.hasPrefix("control-"), let port = Int(name.dropFirst(8)), tokens[port] == nil else { continue }
        tokens[port] = try Self.read("\(folder)/\(name)", user: user)
      }
    }
    return tokens
  }

  /// Reads a file that only its user reads and writes.
  private static func read(_ path: String, user: uid_t) throws(Failure) -> String {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Failure("\(path): \(String(cString: strerror(errno))); remove it") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == user,
      status.st_mode & 0o077 == 0, let data = try? file.read(upToCount: 512),
      let token = AccessToken(parsing: String(decoding: data, as: UTF8.self), role: .operator)
    else { throw Failure("\(path): it is not a file with a token that only its user reads; remove it") }
    return token.secret.text
  }
}

/// Facts about access for the status display.
struct AccessSummary: Sendable {
  /// The operator token; nil when control is off, or open to every viewer.
  var token: ControlToken?
  /// Clients that control without a token.
  var control: ControlPolicy
  /// Whether watching needs a password or token.
  var isWatchingProtected: Bool

  /// The address of a stream's page that makes the browser an operator.
  func controlAddress(page: String) -> String? {
    self.token.map { "\(page)#control=\($0.secret.text)" }
  }

  /// Sentences for users about the rights of clients without credentials.
  var notes: [String] {
    var notes: [String] = []
    if !self.isWatchingProtected {
      notes.append("anyone on this network can watch; --user NAME:PASSWORD asks for a password")
    }
    switch self.control {
    case .all: notes.append("everyone who can watch can control, since --control is all")
    case .machine: notes.append("every program on this machine can control, since --control is machine")
    case .none: notes.append("control is off, since --control is none")
    case .operators: break
    }
    return notes
  }
}
