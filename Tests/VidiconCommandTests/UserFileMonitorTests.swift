import Authentication
import Foundation
import Testing

@testable import VidiconCommand

@Suite("User file on the disk")
struct UserFileMonitorTests {
  /// The result of reading a file with this text and mode.
  private static func read(_ text: String, mode: Int) throws -> Result<UserFile, Failure> {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    var monitor = UserFileMonitor(path: path)
    do throws(Failure) {
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
      #expect(failure.message.contains("run chmod 600") && !failure.message.contains("sesame"))
    }
  }

  @Test func `an error names the line, not its content`() throws {
    guard case .failure(let failure) = try Self.read("anna:sesame\nboss ben:secret\n", mode: 0o600) else {
      Issue.record("a wrong line is accepted")
      return
    }
    #expect(failure.message.contains("line 2"))
    for word in ["ben", "secret", "sesame"] { #expect(!failure.message.contains(word)) }
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
      (error as? Failure)?.message.contains(message) == true
    }
  }
}
