import Foundation
import Synchronization
import TestSupport
import Testing

/// A recording process and the lines of its standard output.
final class Probe: Sendable {
  private struct State {
    var lines: [String] = []
    var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var hasEnded = false
  }

  private let process: Process
  private let state: Mutex<State>

  /// Starts a command.
  init(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.standardError
    let state = Mutex(State())
    self.process = process
    self.state = state
    try process.run()
    Thread.detachNewThread { [self] in
      // The slowest recordings of the tests take a part of that on a busy machine.
      self.process.killed(after: .seconds(1200)) { self.read(output.fileHandleForReading) }
    }
  }

  /// Collects the output up to the end of the process.
  private func read(_ output: FileHandle) {
    var rest = Data()
    while case let piece = output.availableData, !piece.isEmpty {
      rest += piece
      while let end = rest.firstIndex(of: 10) {
        self.add(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
        rest = Data(rest[(end + 1)...])
      }
    }
    self.end()
  }

  private func add(_ line: String) {
    self.update { $0.lines.append(line) }
  }

  private func end() {
    self.process.finish()
    self.update { $0.hasEnded = true }
  }

  private func update(_ body: (inout State) -> Void) {
    let ready = self.state.withLock { state in
      body(&state)
      let ready = state.waiting.filter { state.hasEnded || $0.count <= state.lines.count }
      state.waiting.removeAll { state.hasEnded || $0.count <= state.lines.count }
      return ready
    }
    for waiting in ready { waiting.continuation.resume() }
  }

  /// Waits until the process has printed `count` lines or has ended.
  func wait(forLines count: Int) async {
    await withCheckedContinuation { continuation in
      let isReady = self.state.withLock { state in
        if state.hasEnded || state.lines.count >= count { return true }
        state.waiting.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Waits until the process has ended, and returns its lines.
  func lines() async -> [String] {
    await self.wait(forLines: .max)
    return self.state.withLock { $0.lines }
  }

  var status: Int32 { self.process.terminationStatus }

  /// Kills the process, as a crash would.
  func kill() {
    Foundation.kill(self.process.processIdentifier, SIGKILL)
  }
}
