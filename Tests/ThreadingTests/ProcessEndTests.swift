import Foundation
import TestSupport
import Testing

@Suite("Waits of tests for programs", .timeLimit(.minutes(5)))
struct ProcessEndTests {
  /// Starts a program whose standard input stays open, and which writes to a pipe.
  private func start(_ arguments: [String]) throws -> (process: Process, input: Pipe, output: Pipe) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let (input, output) = try Process.startAlone {
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      return (input, output)
    }
    return (process, input, output)
  }

  @Test func `a program that does not end is killed after the limit`() throws {
    let (hanging, input, _) = try self.start(["cat"])
    hanging.finish(within: .milliseconds(1))
    #expect(hanging.terminationReason == .uncaughtSignal && hanging.terminationStatus == SIGKILL)
    let (silent, other, output) = try self.start(["cat"])
    #expect(silent.finish(reading: output, within: .milliseconds(1)) == Data())
    #expect(silent.terminationReason == .uncaughtSignal)
    withExtendedLifetime((input, other)) {}
  }

  @Test func `a program that ends has its output and status`() throws {
    let (process, _, output) = try self.start(["sh", "-c", "echo a; exit 3"])
    #expect(process.finish(reading: output) == Data("a\n".utf8))
    #expect(process.terminationReason == .exit && process.terminationStatus == 3)
  }
}
