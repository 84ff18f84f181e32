import Foundation
import Synchronization

/// A program that was started, with what it prints collected as it comes.
///
/// Whoever starts one ends it: ``end(within:)`` or ``kill()`` on every path.
final class ChildProcess: Sendable {
  /// How a program ended.
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
  ///   - executable: Its path.
  ///   - arguments: Without the program's name.
  ///   - input: What it reads: a pipe that somebody else writes, or nil for nothing.
  ///   - outputPipe: Where its output goes, for another program to read; nil to collect it.
  ///   - environment: Variables that it has besides, or instead of, those of the tests.
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
    let collected = Pipe()
    let errors = Pipe()
    process.standardOutput = outputPipe ?? collected
    process.standardError = errors
    try Self.run(process)
    self.process = process
    if outputPipe != nil { try collected.fileHandleForWriting.close() }
    self.output = CollectedOutput(collected.fileHandleForReading)
    self.errors = CollectedOutput(errors.fileHandleForReading)
    self.exit = Task {
      for await exit in exits { return exit }
      return .signal(0)
    }
  }

  /// Starts a process that hears signals, as one that was started by a shell does: Dispatch's threads block all of them,
  /// and a new process inherits that.
  private static func run(_ process: Process) throws {
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    try process.run()
  }

  var isRunning: Bool { self.process.isRunning }

  /// Its number, for reading what the system knows of it.
  var processIdentifier: Int32 { self.process.processIdentifier }

  func signal(_ number: Int32) {
    if self.process.isRunning { _ = Foundation.kill(self.process.processIdentifier, number) }
  }

  /// When it was ended by force, in microseconds since 1970; nil when it was not.
  var killMicroseconds: Int64? { self.killTime.withLock { $0 } }

  /// Waits for the program to end by itself, and ends it by force when it has not within a time.
  ///
  /// - Returns: How it ended, or nil when it had to be ended by force.
  func end(within limit: Duration) async -> Exit? {
    let guardian = Task {
      do { try await Task.sleep(for: limit) } catch { return false }
      self.kill()
      return true
    }
    let exit = await self.exit.value
    guardian.cancel()
    return await guardian.value ? nil : exit
  }

  /// Ends the program, and what it has started, at once.
  func kill() {
    guard self.process.isRunning else { return }
    self.killTime.withLock { $0 = $0 ?? unixMicroseconds() }
    let identifier = self.process.processIdentifier
    _ = Foundation.kill(-identifier, SIGKILL)
    _ = Foundation.kill(identifier, SIGKILL)
  }
}
