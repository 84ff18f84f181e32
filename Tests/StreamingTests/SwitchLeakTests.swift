import Foundation
import TestSupport
import Testing

@Suite("A hundred switches")
struct SwitchLeakTests {
  @Test(.timeLimit(.minutes(3))) func `leave no descriptor, thread, source or memory behind`() async throws {
    let lines = try await BuiltProgram("SwitchProbe").lines(["100"])
    try #require(lines.count == 4, "\(lines)")
    #expect(ResourceUsage(lines[1]).growth(since: ResourceUsage(lines[0])) == [], "\(lines)")
    // Every third of a hundred, of frames and of audio.
    #expect(lines[2] == "failures=66 encoders=2 rises=true")
    #expect(lines[3] == "ended with 0 sources")
  }

  @Test(.timeLimit(.minutes(2))) func `without a thread to be had fail, and the stream goes on`() async throws {
    let lines = try await BuiltProgram("SwitchProbe").lines(["threads"])
    let refusal =
      "stream: no thread can be started; end other programs, or raise the limit of processes (ulimit -u)"
    #expect(
      lines == [
        "switch: \(refusal)", "start: \(refusal)", "switch later: done", "stop: done", "plasma runs: false",
      ])
  }
}
