import Media
import Testing
import Threading

@Suite("Stop signal", .timeLimit(.minutes(1)))
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

@Suite("Stream clock")
struct StreamClockTests {
  @Test func `time never goes back`() {
    let times = (0..<1_000).map { _ in StreamClock.system.now() }
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test(arguments: [0, 1, 1_700_000_000_123_456_789, -5] as [Int64])
  func `wall-clock time is converted there and back without loss`(nanoseconds: Int64) {
    let clock = StreamClock.system
    #expect(clock.unixTime(at: clock.mediaTime(atUnixTime: nanoseconds)) == nanoseconds)
    #expect(
      clock.mediaTime(atUnixTime: clock.unixTime(at: MediaTime(nanoseconds: nanoseconds))).nanoseconds == nanoseconds)
  }

  @Test func `wall-clock time is after the year 2020 and advances with the clock`() {
    let clock = StreamClock.system
    let now = clock.now()
    #expect(clock.unixTime(at: now) > 1_577_836_800_000_000_000)
    #expect(clock.unixTime(at: now + .seconds(2)) - clock.unixTime(at: now) == 2_000_000_000)
  }

  @Test func `an error number has the system's text`() {
    #expect(systemErrorMessage(2) == "No such file or directory")
  }
}
