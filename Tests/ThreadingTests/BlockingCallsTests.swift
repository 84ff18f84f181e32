import Synchronization
import TestSupport
import Testing

@testable import Threading

@Suite("Blocking calls", .timeLimit(.minutes(5)))
struct BlockingCallsTests {
  @Test func `a result is returned, and the next call of the kind runs`() async throws {
    let calls = BlockingCalls()
    for number in 0..<3 {
      #expect(await calls.run("a", named: "test", timeout: .seconds(300)) { number } == number)
      try await eventually { calls.count == 0 }
    }
  }

  @Test func `a call that hangs has one thread, however often it is requested`() async throws {
    let (calls, held) = (BlockingCalls(), Monitor(true))
    let starts = Mutex(0)
    for _ in 0..<5 {
      let result: Void? = await calls.run("camera", named: "test", timeout: .milliseconds(10)) {
        starts.withLock { $0 += 1 }
        held.wait { $0 ? nil : () }
      }
      #expect(result == nil)
    }
    // The first thread may start later than all five calls time out.
    try await eventually { starts.withLock { $0 } > 0 }
    #expect(starts.withLock { $0 } == 1 && calls.count == 1)
    // Calls of another kind run meanwhile.
    #expect(await calls.run("file", named: "test", timeout: .seconds(300)) { 7 } == 7)
    held.withLock { $0 = false }
    try await eventually { calls.count == 0 }
    #expect(starts.withLock { $0 } == 1)
    #expect(await calls.run("camera", named: "test", timeout: .seconds(300)) { 8 } == 8)
  }

  @Test func `calls of all kinds together have eight threads`() async throws {
    let (calls, held) = (BlockingCalls(), Monitor(true))
    for number in 0..<10 {
      _ = await calls.run("\(number)", named: "test", timeout: .milliseconds(10)) { held.wait { $0 ? nil : () } }
      #expect(calls.count == min(number + 1, BlockingCalls.maximumCount))
    }
    held.withLock { $0 = false }
    try await eventually { calls.count == 0 }
  }
}
