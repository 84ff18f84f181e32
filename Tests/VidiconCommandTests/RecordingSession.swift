import Foundation
import TestSupport
import Testing

/// The built program as the leader of a session of its own, which records bars to the file `clip.mp4` of a folder.
final class RecordingSession {
  /// Path of the file.
  let path: String
  private let folder: TemporaryFolder
  private let process = Process()
  /// The other side of the program's terminal, whose close hangs up; nil without a terminal.
  private let terminal: FileHandle?
  private var hasEnded = false

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - ignoresHangup: Whether SIGHUP is ignored at the start, as with `nohup`; otherwise it ends a program by default.
  ///   - hasTerminal: Whether the session has a terminal; one of a service manager has none.
  ///   - arguments: Further arguments of `vidicon record`.
  init(ignoresHangup: Bool = false, hasTerminal: Bool = true, _ arguments: [String] = []) throws {
    self.folder = try TemporaryFolder()
    self.path = "\(self.folder.path)/clip.mp4"
    let process = self.process
    process.executableURL = URL(filePath: "/usr/bin/env")
    var command = [ignoresHangup ? "--ignore-signal=HUP" : "--default-signal=HUP", "setsid", "--wait"]
    if hasTerminal { command.append("--ctty") }
    // The shell becomes the program, which reads no keys of the terminal.
    command += ["sh", "-c", #"echo $$ >"$0"; exec "$@" </dev/null"#, "\(self.folder.path)/process"]
    command += [try BuiltProgram("vidicon").url.path, "record", self.path]
    command += ["--source", "bars", "--size", "64x48", "--fps", "10"]
    process.arguments = command + arguments
    for name in ["output", "errors"] { try Data().write(to: URL(filePath: "\(self.folder.path)/\(name)")) }
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: "\(self.folder.path)/output"))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: "\(self.folder.path)/errors"))
    self.terminal = try Process.startAlone { () throws -> FileHandle? in
      guard hasTerminal else {
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return nil
      }
      var (terminal, own): (CInt, CInt) = (-1, -1)
      try #require(openpty(&terminal, &own, nil, nil, nil) == 0)
      // No other child may keep it open.
      try #require(fcntl(terminal, F_SETFD, FD_CLOEXEC) == 0)
      defer { close(own) }
      process.standardInput = FileHandle(fileDescriptor: own, closeOnDealloc: false)
      try process.run()
      return FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
    }
  }

  deinit {
    if !self.hasEnded, let identifier = try? self.programIdentifier() { kill(identifier, SIGKILL) }
  }

  private func programIdentifier() throws -> Int32 {
    let text = try String(contentsOfFile: "\(self.folder.path)/process", encoding: .utf8)
    guard let identifier = Int32(text.dropLast()) else { throw TestMedia.Failure(description: "no process: \(text)") }
    return identifier
  }

  /// Hangs up once the file has its first fragment: closes the terminal, or sends SIGHUP; then sends SIGHUP, as a shell does too.
  func hangUp(closingTerminal: Bool) async throws {
    try await eventually {
      (try? Data(contentsOf: URL(filePath: self.path)))?.contains(Data("moof".utf8)) ?? false
    }
    let identifier = try self.programIdentifier()
    if closingTerminal { try self.terminal?.close() } else { kill(identifier, SIGHUP) }
    let second = ContinuousClock.now + .milliseconds(50)
    try await eventually { ContinuousClock.now >= second }
    kill(identifier, SIGHUP)
  }

  /// Waits for the end of the program.
  ///
  /// - Returns: Its exit status, its output and its errors.
  func end() async throws -> (status: Int32, output: OutputLines, errors: OutputLines) {
    let process = self.process
    try await onThread { process.finish() }
    self.hasEnded = process.terminationReason == .exit
    let output = try Data(contentsOf: URL(filePath: "\(self.folder.path)/output"))
    let errors = try Data(contentsOf: URL(filePath: "\(self.folder.path)/errors"))
    return (process.terminationStatus, OutputLines(Array(output)), OutputLines(Array(errors)))
  }
}
