import Foundation
import TestSupport
import Testing

@Suite("Secrets that are typed on a terminal")
struct SecretInputTests {
  private func isEchoing(_ terminal: Int32) -> Bool {
    var modes = termios()
    return tcgetattr(terminal, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) != 0
  }

  @Test(arguments: [("sesame-1\n", true), ("\u{3}", false), ("\u{4}", false)])
  func `a password is not shown, and the terminal shows what is typed again after Enter, Ctrl-C and Ctrl-D`(
    keys: String, isHashed: Bool
  ) async throws {
    let folder = try TemporaryFolder()
    let program = Process()
    program.executableURL = URL(filePath: "/usr/bin/env")
    // A shell is the leader of the session, which notes how the program leaves the terminal.
    let script = #"trap : INT; cd "$0"; "$@" >output; echo $? >status; stty -a >modes"#
    program.arguments = [
      "--default-signal=INT", "LC_ALL=C", "setsid", "--wait", "--ctty", "sh", "-c", script, folder.path,
      try BuiltProgram("vidicon").url.path, "password",
    ]
    let (terminal, own) = try Process.startAlone { () throws -> (FileHandle, FileHandle) in
      var (terminal, own): (Int32, Int32) = (-1, -1)
      try #require(openpty(&terminal, &own, nil, nil, nil) == 0)
      for descriptor in [terminal, own] { try #require(fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0) }
      let files = (
        FileHandle(fileDescriptor: terminal, closeOnDealloc: true),
        FileHandle(fileDescriptor: own, closeOnDealloc: true)
      )
      program.standardInput = files.1
      program.standardError = files.1
      try program.run()
      return files
    }
    // Keys that are typed before are dropped.
    try await eventually { !self.isEchoing(own.fileDescriptor) }
    try terminal.write(contentsOf: Data(keys.utf8))
    try await onThread { program.finish() }
    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)
    }
    let modes = try text("modes")
    #expect(modes.contains(" echo "), "\(modes)")
    #expect(try (text("status") == "0\n") == isHashed)
    #expect(try text("output").isEmpty == !isHashed)
  }
}
