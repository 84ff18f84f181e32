import Synchronization
import TestSupport
import Testing

@testable import Threading

@Suite("Single flight", .timeLimit(.minutes(5)))
struct SingleFlightTests {
  @Test func `callers that arrive during a computation share the next one`() async throws {
    let count = Atomic(0)
    let gate = Gate()
    let flight = SingleFlight<Int>(threadName: "test", timeout: .seconds(300))
    let work: @Sendable () -> Int = {
      gate.pass()
      return count.add(1, ordering: .relaxed).newValue
    }
    let results = try await withThrowingTaskGroup(of: Int?.self) { group in
      group.addTask { await flight.run(work) }
      try await eventually { gate.waiting == 1 }
      for _ in 0..<49 { group.addTask { await flight.run(work) } }
      try await eventually { flight.callerCount == 50 }
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0 == 1 } == 1)
    #expect(results.count { $0 == 2 } == 49)
    let computations = count.load(ordering: .relaxed)
    #expect(computations == 2)
    #expect(flight.callerCount == 0)
  }

  @Test func `a call after a computation computes again`() async {
    let count = Atomic(0)
    let flight = SingleFlight<Int>(threadName: "test", timeout: .seconds(300))
    for expected in 1...3 {
      let result = await flight.run { count.add(1, ordering: .relaxed).newValue }
      #expect(result == expected)
    }
  }

  @Test func `a caller waits at most the timeout, and another thread serves the next`() async throws {
    let gate = Gate()
    let flight = SingleFlight<Int>(threadName: "test", timeout: .milliseconds(20))
    #expect(await flight.run { gate.result(1) } == nil)
    gate.open()
    // A fast computation may miss the 20 ms on a busy machine.
    while await flight.run({ 2 }) != 2 { try Task.checkCancellation() }
  }

  @Test func `no third thread is started while two are stuck`() async throws {
    let gate = Gate()
    let flight = SingleFlight<Int>(threadName: "test", timeout: .milliseconds(20))
    #expect(await flight.run { gate.result(1) } == nil)
    #expect(await flight.run { gate.result(2) } == nil)
    try await eventually { gate.waiting == 2 }
    let isStarted = Atomic(false)
    let result = await flight.run {
      isStarted.store(true, ordering: .relaxed)
      return 3
    }
    #expect(result == nil)
    let wasStarted = isStarted.load(ordering: .relaxed)
    #expect(!wasStarted)
    gate.open()
    // The threads end, and calls are served again.
    while await flight.run({ 4 }) != 4 { try Task.checkCancellation() }
  }
}
