package import Foundation

/// Runs a command of bash on a thread of its own, since waiting for it would block those that tasks share.
///
/// - Parameters:
///   - command: Ended by force after 600 s, with all processes that it has started.
///   - arguments: Values of `$1` and so on.
/// - Returns: Its standard output.
package func output(ofShell command: String, _ arguments: String...) async throws -> Data {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      let (shell, output) = (Process(), Pipe())
      shell.executableURL = URL(fileURLWithPath: "/usr/bin/timeout")
      shell.arguments = ["600", "bash", "-c", command, "bash"] + arguments
      shell.standardOutput = output
      shell.standardError = FileHandle.nullDevice
      do {
        try Process.startAlone { try shell.run() }
        continuation.resume(returning: shell.finish(reading: output, within: .seconds(630)))
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
}
