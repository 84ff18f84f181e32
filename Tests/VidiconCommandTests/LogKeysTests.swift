import Foundation
import TestSupport
import Testing

/// The built program with `--log keys`.
@Suite("Runs of the program with a log for programs")
struct LogKeysTests {
  /// The lines from `level=` on.
  private static func events(_ bytes: [UInt8]) -> [String] {
    OutputLines(bytes).lines.map { line in
      line.firstMatch(of: #/^time=\S+Z (level=.*)$/#).map { String($0.1) } ?? "no event: \(line)"
    }
  }

  @Test(arguments: [["--fps", "0"], ["--colour", "red"], ["--fps"]])
  func `a wrong option is an event, too`(option: [String]) async throws {
    for arguments in [["serve", "--log", "keys"] + option, ["serve", "--log=keys"] + option] {
      let result = try await BuiltProgram("vidicon").run(arguments)
      let events = Self.events(result.errors)
      #expect(result.status == 64 && events.count == 1, "\(events)")
      #expect(events.first?.hasPrefix("level=error event=failed message=\"") == true, "\(events)")
    }
  }

  @Test func `a recording is events, and nothing is on standard output`() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/clip.mp4"
    let arguments = ["record", path, "--source", "bars", "--size", "64x48", "--fps", "10", "--log", "keys"]
    let result = try await BuiltProgram("vidicon").run(arguments + ["--duration", "1s"])
    #expect(result.status == 0 && OutputLines(result.output).text.isEmpty)
    let events = Self.events(result.errors)
    #expect(events.contains { $0.contains(#/event=recording_started stream=\S+ path=/#) }, "\(events)")
    #expect(events.contains { $0.contains(#/event=recording_finished stream=\S+ path=\S+ duration=\S+ bytes=\d+$/#) })
    #expect(events.last == "level=notice event=stopped")
    // The file is there already.
    let failing = try await BuiltProgram("vidicon").run(arguments)
    let failure = Self.events(failing.errors)
    #expect(failing.status != 0 && failure.last?.hasPrefix("level=error event=failed message=") == true, "\(failure)")
    #expect(!failure.contains { $0.contains("event=stopped") })
  }
}
