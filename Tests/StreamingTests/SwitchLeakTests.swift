import Foundation
import TestSupport
import Testing

@Suite("A hundred source switches")
struct SwitchLeakTests {
  // A leak is waited for five minutes, twice.
  @Test(.timeLimit(.minutes(15))) func `switches leak no descriptor, thread, source or memory`() async throws {
    let lines = try await BuiltProgram("SwitchProbe").lines(["100"])
    try #require(lines.count == 4, "\(lines)")
    #expect(ResourceUsage(lines[1]).growth(since: ResourceUsage(lines[0])) == [], "\(lines)")
    // Every third of a hundred, of video and of audio.
    #expect(lines[2] == "failures=66 encoders=2 rises=true")
    #expect(lines[3] == "ended with 0 sources")
  }

  @Test(.timeLimit(.minutes(5))) func `switches fail when no thread can be started, and the stream continues`()
    async throws
  {
    let lines = try await BuiltProgram("SwitchProbe").lines(["threads"])
    let refusal =
      "stream: no thread can be started; end other programs, or raise the limit of processes (ulimit -u)"
    #expect(
      lines == [
        "switch: \(refusal)", "start: \(refusal)", "switch later: done", "stop: done", "plasma runs: false",
      ])
  }
}
