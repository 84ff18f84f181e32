import Foundation

/// A program of the system that is run for its output, and ended where it takes long.
struct SystemCommand: Sendable {
  /// Maximum time of a run.
  private static let limit = Duration.seconds(2)

  private let words: [String]

  /// A program, which is searched for in `PATH` and the folders of programs for administrators, and its arguments.
  init(_ words: String...) { self.words = words }

  /// The standard output of a run with status 0; nil for another one, and where there is no such program. Blocks.
  func output() -> String? {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = self.words
    // The shell of root after su(1) has the path of the user before.
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = [environment["PATH"], "/usr/sbin:/sbin"].compactMap(\.self).joined(separator: ":")
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      return nil
    }
    let identifier = process.processIdentifier
    let guardian = Task {
      try await Task.sleep(for: Self.limit)
      kill(identifier, SIGKILL)
    }
    defer { guardian.cancel() }
    // Ends when the program does, or is killed.
    let data = try? pipe.fileHandleForReading.readToEnd()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else { return nil }
    return String(decoding: data ?? Data(), as: UTF8.self)
  }
}
