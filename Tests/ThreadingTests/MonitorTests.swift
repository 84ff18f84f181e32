import Media
import Testing

@testable import Threading

@Suite("Monitor", .timeLimit(.minutes(5)))
struct MonitorTests {
  private struct State {
    var value = 0
  }

  /// A thread that waits until `value` is 100 and counts in `evaluations` how often it checks the condition.
  private func waiter(on monitor: Monitor<State>, _ evaluations: Monitor<Int>) throws -> WorkerThread {
    let thread = WorkerThread(name: "waiter")
    try thread.start { _ in
      _ = monitor.wait { state -> Bool? in
        evaluations.withLock { $0 += 1 }
        return state.value == 100 ? true : nil
      }
    }
    // After its first evaluation the thread waits as soon as it releases the lock.
    _ = evaluations.wait { $0 == 1 ? true : nil }
    return thread
  }

  @Test func `reading does not wake a waiter, mutating does`() throws {
    let (monitor, evaluations) = (Monitor(State()), Monitor(0))
    let thread = try self.waiter(on: monitor, evaluations)
    for index in 0..<1_000 {
      _ = monitor.read { $0.value }
      monitor.withLockWakingNone { $0.value = index % 50 }
    }
    // Each of the reads would have woken the waiter as this mutation does.
    monitor.withLock { $0.value = 1 }
    _ = evaluations.wait { $0 >= 2 ? true : nil }
    #expect(evaluations.read { $0 } == 2)
    monitor.withLock { $0.value = 100 }
    thread.join()
    #expect(evaluations.read { $0 } == 3)
  }

  @Test func `waiting does not wake a waiter, taking does`() throws {
    let (monitor, evaluations) = (Monitor(State()), Monitor(0))
    let thread = try self.waiter(on: monitor, evaluations)
    for _ in 0..<1_000 { #expect(monitor.wait { $0.value == 0 ? true : nil } == true) }
    // A `take` without a result wakes no waiter either.
    let past = StreamClock.system.now() - .seconds(1)
    #expect(monitor.take(until: past) { $0.value == 5 ? true : nil } == nil)
    let taken = monitor.take { state in
      state.value = 100
      return state.value
    }
    #expect(taken == 100)
    thread.join()
    #expect(evaluations.read { $0 } == 2)
  }

  @Test func `a wait ends at its deadline without a result`() {
    let monitor = Monitor(0)
    let deadline = StreamClock.system.now() + .milliseconds(5)
    #expect(monitor.wait(until: deadline) { $0 == 1 ? true : nil } == nil)
    #expect(StreamClock.system.now() >= deadline)
  }

  @Test func `a mutation by a waiter that takes wakes the next one`() throws {
    // Two threads each take one of the items that a third enqueues at once.
    let (monitor, taken) = (Monitor(0), Monitor(0))
    let threads = (0..<2).map { WorkerThread(name: "taker \($0)") }
    for thread in threads {
      try thread.start { _ in
        let item = monitor.take { state -> Int? in
          guard state > 0 else { return nil }
          state -= 1
          return 1
        }
        taken.withLock { $0 += item ?? 0 }
      }
    }
    monitor.withLock { $0 = 2 }
    for thread in threads { thread.join() }
    #expect(taken.read { $0 } == 2)
    #expect(monitor.read { $0 } == 0)
  }

  @Test func `mutations of several threads do not interleave`() throws {
    let monitor = Monitor(0)
    let threads = (0..<4).map { WorkerThread(name: "adder \($0)") }
    for thread in threads {
      try thread.start { _ in for _ in 0..<1_000 { monitor.withLock { $0 += 1 } } }
    }
    for thread in threads { thread.join() }
    #expect(monitor.read { $0 } == 4_000)
  }

  @Test func `an error thrown by the body releases the lock`() {
    struct Failure: Error {}
    let monitor = Monitor(0)
    #expect(throws: Failure.self) { try monitor.withLock { _ in throw Failure() } }
    #expect(throws: Failure.self) { try monitor.read { _ in throw Failure() } }
    monitor.withLock { $0 = 1 }
    #expect(monitor.read { $0 } == 1)
  }
}
