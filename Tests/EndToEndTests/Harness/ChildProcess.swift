import Foundation
import Synchronization
import TestSupport

/// A running child process with its collected output.
///
/// The caller ends each process, with ``end(within:)`` or ``kill()``, on every path.
final class ChildProcess: Sendable {
  /// End of a program.
  enum Exit: Equatable {
    case status(Int32)
    case signal(Int32)
  }

  let output: CollectedOutput
  let errors: CollectedOutput
  private let process: Process
  private let exit: Task<Exit, Never>
  private let killTime = Mutex<Int64?>(nil)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - executable: Path of the program.
  ///   - arguments: Arguments without the program's name.
  ///   - input: Pipe that becomes standard input; nil for `/dev/null`.
  ///   - outputPipe: Pipe that becomes standard output, for another process to read; nil to collect the output.
  ///   - environment: Variables added to, or replacing, those of the test process.
  init(
    _ executable: String,
    _ arguments: [String],
    input: Pipe? = nil,
    outputPipe: Pipe? = nil,
    environment: [String: String] = [:]
  ) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    if !environment.isEmpty {
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }
    if let input { process.standardInput = input } else { process.standardInput = FileHandle.nullDevice }
    let (exits, continuation) = AsyncStream.makeStream(of: Exit.self)
    process.terminationHandler = { ended in
      let number = ended.terminationStatus
      continuation.yield(ended.terminationReason == .uncaughtSignal ? .signal(number) : .status(number))
      continuation.finish()
    }
    let (collected, errors) = try Process.startAlone {
      let (collected, errors) = (Pipe(), Pipe())
      process.standardOutput = outputPipe ?? collected
      process.standardError = errors
      try ChildProcess.run(process)
      return (collected, errors)
    }
    self.process = process
    if outputPipe != nil { try collected.fileHandleForWriting.close() }
    self.output = CollectedOutput(collected.fileHandleForReading)
    self.errors = CollectedOutput(errors.fileHandleForReading)
    self.exit = Task {
      // Safe because the harness ends a test that hangs, and with it this process.
      for await exit in exits { return exit }
      return .signal(0)
    }
  }

  /// A pipe of which no child inherits an end that it is not given.
  static func pipe() -> Pipe { Process.startAlone { Pipe() } }

  /// Starts a process with no signal blocked. Dispatch's threads block all signals, and a child inherits the mask.
  private static func run(_ process: Process) throws {
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try process.run()
  }

  var isRunning: Bool { self.process.isRunning }

  /// Process ID, for reading `/proc`.
  var processIdentifier: Int32 { self.process.processIdentifier }

  func signal(_ number: Int32) {
    if self.process.isRunning { _ = Foundation.kill(self.process.processIdentifier, number) }
  }

  /// Time of ``kill()``, in microseconds since 1970; nil when it was not called.
  var killMicroseconds: Int64? { self.killTime.withLock { $0 } }

  /// Waits for the exit; kills the process after `limit`.
  ///
  /// - Returns: The exit, or nil when the process was killed after the limit.
  func end(within limit: Duration) async -> Exit? {
    let guardian = Task {
      do { try await Task.sleep(for: limit) } catch { return false }
      guard self.process.isRunning else { return false }
      self.kill()
      return true
    }
    let exit = await self.exit.value
    guardian.cancel()
    return await guardian.value ? nil : exit
  }

  /// Kills the process and its process group.
  func kill() {
    guard self.process.isRunning else { return }
    self.killTime.withLock { $0 = $0 ?? unixMicroseconds() }
    let identifier = self.process.processIdentifier
    _ = Foundation.kill(-identifier, SIGKILL)
    _ = Foundation.kill(identifier, SIGKILL)
  }
}
