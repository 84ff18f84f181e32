import Foundation

/// A condition that a test waits for did not come true in time.
private struct Silence: Error, CustomStringConvertible {
  var description: String
}

/// Waits until a condition holds, checking it at most every 50 ms.
///
/// - Parameter limit: Timeout when the test runs alone; see ``MachineShare/timeout(_:)``.
func waitUntil(within limit: Duration = .seconds(60), _ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + MachineShare.timeout(limit)
  while try await !condition() {
    guard ContinuousClock.now < end else { throw Silence(description: "the condition did not become true") }
    // Safe because each check starts a program or opens a connection, which would keep a core busy.
    try await Task.sleep(for: .milliseconds(50))
  }
}

/// Limits are timeouts when the test runs alone; see ``MachineShare/timeout(_:)``.
extension ChildProcess {
  /// Waits until the text has occurred this many times on standard output.
  func says(_ text: String, times: Int = 1, within limit: Duration = .seconds(15)) async throws {
    try await self.wait(for: "\"\(text)\" \(times) times", in: self.output, within: limit) { output in
      output.components(separatedBy: text).count > times
    }
  }

  /// Waits until a part of standard output matches an expression.
  func says<Match>(_ expression: Regex<Match>, within limit: Duration = .seconds(15)) async throws {
    // Safe because a literal is immutable, which its type does not say.
    nonisolated(unsafe) let expression = expression
    try await self.wait(for: "match of the expression", in: self.output, within: limit) { $0.contains(expression) }
  }

  /// Waits until the text has occurred this many times on standard error.
  func complains(_ text: String, times: Int = 1, within limit: Duration = .seconds(15)) async throws {
    try await self.wait(for: "\"\(text)\" \(times) times", in: self.errors, within: limit) { errors in
      errors.components(separatedBy: text).count > times
    }
  }

  private func wait(
    for description: String, in output: CollectedOutput, within limit: Duration,
    until isComplete: @escaping @Sendable (String) -> Bool
  ) async throws {
    let limit = MachineShare.timeout(limit)
    let isFound = try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        if isComplete(output.text) { return true }
        // Safe because the other task of the group ends the wait after the limit.
        for await _ in output.pieces where isComplete(output.text) { return true }
        return isComplete(output.text)
      }
      group.addTask {
        try await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
    guard isFound else {
      throw Silence(
        description: "no \(description); the output is: \(self.output.text); the errors are: \(self.errors.text)")
    }
  }
}
