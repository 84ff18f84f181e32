import Media
import Testing
import Threading

@Suite("Stop signal", .timeLimit(.minutes(5)))
struct StopSignalTests {
  @Test func `a wait without the signal lasts until its time`() {
    let signal = StopSignal()
    let deadline = StreamClock.system.now() + .milliseconds(5)
    #expect(signal.wait(until: deadline))
    #expect(StreamClock.system.now() >= deadline)
    #expect(!signal.isStopped)
  }

  @Test func `the signal ends the wait of every thread and all later waits`() throws {
    let signal = StopSignal()
    let (waiting, ended) = (Monitor(0), Monitor<[Bool]>([]))
    let threads = (0..<3).map { WorkerThread(name: "waiter \($0)") }
    for thread in threads {
      try thread.start { _ in
        waiting.withLock { $0 += 1 }
        let isReached = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
        ended.withLock { $0.append(isReached) }
      }
    }
    _ = waiting.wait { $0 == 3 ? true : nil }
    signal.stop()
    for thread in threads { thread.join() }
    #expect(ended.read { $0 } == [false, false, false])
    #expect(signal.isStopped)
    #expect(!signal.wait(until: StreamClock.system.now() + .seconds(3_600)))
  }
}
