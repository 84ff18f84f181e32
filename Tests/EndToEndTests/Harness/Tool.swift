import Foundation
import Testing

/// An installed program that plays, probes or generates media.
struct Tool {
  /// Result of a run.
  struct Run {
    /// Exit status; nil when the tool was killed after its timeout.
    var exit: ChildProcess.Exit?
    var output: [UInt8]
    var errors: String
    /// Arrival times of the output.
    var arrivals: [CollectedOutput.Arrival]
    /// Time from start to exit.
    var duration: Duration

    var outputText: String { String(decoding: self.output, as: UTF8.self) }
    var succeeded: Bool { self.exit == .status(0) }
  }

  /// A tool that is not installed.
  struct Missing: Error, CustomStringConvertible {
    var name: String
    var description: String { "there is no \(self.name) here; run scripts/setup --tests" }
  }

  var path: String

  /// Finds a tool by its name; a missing one fails the test.
  init(_ name: String) throws {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    let paths = folders.map { "\($0)/\(name)" }
    guard let path = paths.first(where: { access($0, X_OK) == 0 }) else { throw Missing(name: name) }
    self.path = path
  }

  /// Runs a tool until it exits or times out.
  ///
  /// - Parameters:
  ///   - byteLimit: Bytes of output after which the tool gets SIGTERM.
  ///   - limit: Timeout when the test runs alone; see ``MachineShare/timeout(_:)``.
  static func run(
    _ name: String, _ arguments: [String], byteLimit: Int = .max, within limit: Duration
  ) async throws -> Run {
    try await self.run(program: Tool(name).path, arguments, byteLimit: byteLimit, within: limit)
  }

  /// Runs a program by its path until it exits or times out.
  static func run(
    program path: String, _ arguments: [String], byteLimit: Int = .max, within limit: Duration
  ) async throws -> Run {
    let start = ContinuousClock.now
    let child = try ChildProcess(path, arguments)
    let limit = MachineShare.timeout(limit)
    let watcher = Task {
      var count = 0
      // Safe because the tool is killed after the limit, which ends its output.
      for await piece in child.output.pieces {
        count += piece.count
        if count >= byteLimit { return child.signal(SIGTERM) }
      }
    }
    let exit = await withTaskCancellationHandler {
      await child.end(within: limit)
    } onCancel: {
      child.kill()
    }
    watcher.cancel()
    await child.output.end()
    await child.errors.end()
    return Run(
      exit: exit, output: child.output.bytes, errors: child.errors.text, arrivals: child.output.arrivals,
      duration: .now - start)
  }
}
