import Authentication
import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("User file on the disk")
struct UserFileMonitorTests {
  /// The result of reading a file with this text and mode.
  private static func read(_ text: String, mode: Int) throws -> Result<UserFile, VidiconError> {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    var monitor = UserFileMonitor(path: path)
    do throws(VidiconError) {
      return .success(try monitor.read())
    } catch {
      return .failure(error)
    }
  }

  @Test(arguments: [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false), (0o644, false)])
  func `a file that others can read or write is refused`(mode: Int, isRead: Bool) throws {
    switch try Self.read("anna:sesame\noperator token=0123456789abcdef\n", mode: mode) {
    case .success(let file):
      #expect(isRead)
      #expect(file.users.map(\.user) == ["anna"] && file.tokens.map(\.role) == [.operator])
    case .failure(let failure):
      #expect(!isRead)
      #expect(failure.description.contains("run chmod 600") && !failure.description.contains("sesame"))
    }
  }

  @Test func `an error names the line, not its content`() throws {
    guard case .failure(let failure) = try Self.read("anna:sesame\nboss ben:secret\n", mode: 0o600) else {
      Issue.record("a wrong line is accepted")
      return
    }
    #expect(failure.description.contains("line 2"))
    for word in ["ben", "secret", "sesame"] { #expect(!failure.description.contains(word)) }
  }

  @Test(arguments: [
    ("/nowhere/users", "No such file or directory"), ("/dev/null", "it is not a regular file"),
    ("/", "it is not a regular file"),
  ])
  func `what is no file is refused`(path: String, message: String) {
    var monitor = UserFileMonitor(path: path)
    #expect {
      _ = try monitor.read()
    } throws: { error in
      (error as? VidiconError)?.description.contains(message) == true
    }
  }

  /// A user file of its own for the duration of `body`, which gets its path and writes to it.
  private static func withFile(
    _ body: (_ path: String, _ write: (_ text: String, _ isReplaced: Bool) throws -> Void) throws -> Void
  ) throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path) { text, isReplaced in
      let written = isReplaced ? path + ".new" : path
      if !FileManager.default.fileExists(atPath: written) {
        try #require(
          FileManager.default.createFile(atPath: written, contents: nil, attributes: [.posixPermissions: 0o600]))
      }
      let file = try #require(FileHandle(forWritingAtPath: written))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(text.utf8))
      try file.close()
      // The time of the last change of the content is always the same.
      var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
      try #require(utimensat(AT_FDCWD, written, &times, 0) == 0)
      if isReplaced { try #require(rename(written, path) == 0) }
    }
  }

  /// Names of users, or a sentence.
  private static func text(of change: UserFileMonitor.Change?) -> String? {
    switch change {
    case .users(let file): file.users.map(\.user).joined(separator: " ")
    case .problem(let text): text
    case nil: nil
    }
  }

  /// Polls until something has changed: the times of a file have the resolution of the system's timer.
  private static func change(of monitor: inout UserFileMonitor, write: () throws -> Void) throws -> String? {
    let end = ContinuousClock.now + .seconds(300)
    repeat {
      try write()
      if let change = Self.text(of: monitor.poll()) { return change }
    } while ContinuousClock.now < end
    return nil
  }

  @Test(arguments: [true, false])
  func `a change of the same size and time is read`(isReplaced: Bool) throws {
    try Self.withFile { path, write in
      try write("anna:sesame\n", false)
      var monitor = UserFileMonitor(path: path)
      #expect(try monitor.read().users.map(\.user) == ["anna"])
      #expect(Self.text(of: monitor.poll()) == nil)
      #expect(try Self.change(of: &monitor) { try write("carl:sesame\n", isReplaced) } == "carl")
      #expect(Self.text(of: monitor.poll()) == nil)
    }
  }

  @Test func `a deleted, unreadable or wrong file is reported once, and read when it is back`() throws {
    try Self.withFile { path, write in
      try write("anna:sesame\n", false)
      var monitor = UserFileMonitor(path: path)
      _ = try monitor.read()
      try FileManager.default.removeItem(atPath: path)
      let polled = [Self.text(of: monitor.poll()), Self.text(of: monitor.poll())]
      #expect(polled == ["\(path): No such file or directory; the users stay as they were", nil])
      try write("ben:sesame\n", false)
      #expect(Self.text(of: monitor.poll()) == "ben")
      let wrong = try Self.change(of: &monitor) { try write("boss ben:sesame\n", true) }
      #expect(wrong?.hasSuffix("see docs/access.md for the form of a line; the users stay as they were") == true)
      #expect(Self.text(of: monitor.poll()) == nil)
      let open = try Self.change(of: &monitor) { try #require(chmod(path, 0o644) == 0) }
      #expect(open?.contains("run chmod 600 on it; the users stay") == true)
      #expect(Self.text(of: monitor.poll()) == nil)
      // A directory in its place.
      try FileManager.default.removeItem(atPath: path)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      #expect(Self.text(of: monitor.poll())?.contains("it is not a regular file") == true)
      #expect(Self.text(of: monitor.poll()) == nil)
    }
  }

  @Test func `a file of another user is refused, one of root is not`() throws {
    try Self.withFile { path, write in
      try write("anna:sesame\n", false)
      var foreign = UserFileMonitor(path: path, user: getuid() + 1)
      if getuid() == 0 {
        #expect(try foreign.read().users.map(\.user) == ["anna"])
        try #require(chown(path, 4711, 4711) == 0)
        foreign = UserFileMonitor(path: path)
      }
      let refused = #expect(throws: VidiconError.self) { try foreign.read() }
      #expect(
        refused?.description == "\(path): another user of this machine owns it, and can change it; make it your own")
    }
  }
}
