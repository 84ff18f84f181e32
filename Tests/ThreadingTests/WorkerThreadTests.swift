import Media
import Synchronization
import Testing
import Threading

@Suite("Capture thread")
struct CaptureThreadTests {
  @Test func `stopping ends a wait of an hour at once, and comes back when the body has returned`() throws {
    let returned = Mutex(false)
    let thread = WorkerThread(name: "a name longer than fifteen bytes")
    try thread.start { signal in
      let reached = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
      returned.withLock { $0 = !reached }
    }
    #expect(thread.isStarted)
    let before = StreamClock.system.now()
    thread.stop()
    #expect(returned.withLock { $0 })
    #expect(StreamClock.system.now() - before < .seconds(5))
    #expect(!thread.isStarted)
  }

  @Test func `it is started again after it was stopped, and a second start changes nothing`() throws {
    let thread = WorkerThread(name: "test")
    let runs = Monitor(0)
    for round in 1...3 {
      try thread.start { _ in runs.withLock { $0 += 1 } }
      try thread.start { _ in runs.withLock { $0 += 100 } }
      #expect(runs.wait(until: StreamClock.system.now() + .seconds(10)) { $0 == round ? $0 : nil } == round)
      thread.stop()
      thread.stop()
    }
    #expect(runs.withLock { $0 } == 3)
  }

  @Test func `a body may stop its own thread, and even let go of it`() throws {
    let ended = Monitor(false)
    let holder = Mutex<WorkerThread?>(WorkerThread(name: "test"))
    let thread = try #require(holder.withLock { $0 })
    try thread.start { signal in
      let own = holder.withLock { $0.take() }
      own?.stop()
      ended.withLock { $0 = signal.isStopped }
    }
    #expect(ended.wait(until: StreamClock.system.now() + .seconds(10)) { $0 ? true : nil } == true)
  }

  @Test func `an owner that goes away ends its thread`() throws {
    let ended = Mutex(false)
    do {
      let thread = WorkerThread(name: "test")
      try thread.start { signal in
        _ = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
        ended.withLock { $0 = true }
      }
    }
    #expect(ended.withLock { $0 })
  }
}
