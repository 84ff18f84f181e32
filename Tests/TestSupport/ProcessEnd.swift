package import Dispatch
package import Foundation

extension Process {
  /// Calls a body that waits for the process, which is killed when the body has not returned after a limit.
  package func killed<Result>(
    after limit: DispatchTimeInterval = .seconds(WaitLimit.seconds), during body: () throws -> Result
  ) rethrows -> Result {
    let identifier = self.processIdentifier
    let killing = DispatchWorkItem { _ = kill(identifier, SIGKILL) }
    // Safe because only a process that hangs is ended by it.
    DispatchQueue.global().asyncAfter(deadline: .now() + limit, execute: killing)
    defer { killing.cancel() }
    return try body()
  }

  /// Waits for the end of the process, which comes by force after a limit.
  package func finish(within limit: DispatchTimeInterval = .seconds(WaitLimit.seconds)) {
    // Safe because the process is killed after the limit.
    self.killed(after: limit) { self.waitUntilExit() }
  }

  /// Waits for the end of the process, which comes by force after a limit.
  ///
  /// - Returns: The rest of its output, by a pipe whose only writer it is.
  package func finish(reading output: Pipe, within limit: DispatchTimeInterval = .seconds(WaitLimit.seconds)) -> Data {
    self.killed(after: limit) {
      // Safe because the process is killed after the limit.
      let bytes = output.fileHandleForReading.readDataToEndOfFile()
      self.waitUntilExit()
      return bytes
    }
  }
}
