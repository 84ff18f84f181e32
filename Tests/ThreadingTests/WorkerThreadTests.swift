import Foundation
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Worker thread", .timeLimit(.minutes(5)))
struct WorkerThreadTests {
  private var limit: MediaTime { StreamClock.system.now() + .seconds(300) }

  @Test func `stop interrupts a wait of an hour and returns after the body has returned`() throws {
    let hasReturned = Mutex(false)
    let thread = WorkerThread(name: "a name longer than fifteen bytes")
    try thread.start { signal in
      let isReached = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
      hasReturned.withLock { $0 = !isReached }
    }
    #expect(thread.isStarted)
    let before = StreamClock.system.now()
    thread.stop()
    #expect(hasReturned.withLock { $0 })
    #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(5)))
    #expect(!thread.isStarted)
  }

  @Test func `a stopped thread can be started again, and starting a started one does nothing`() throws {
    let thread = WorkerThread(name: "test")
    let runs = Monitor(0)
    for _ in 0..<3 {
      try thread.start { signal in
        runs.withLock { $0 += 1 }
        _ = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
      }
      try thread.start { _ in runs.withLock { $0 += 100 } }
      thread.stop()
    }
    #expect(runs.read { $0 } == 3)
  }

  @Test func `a body may stop its own thread, and even release it`() throws {
    let hasEnded = Monitor(false)
    let holder = Mutex<WorkerThread?>(WorkerThread(name: "test"))
    let thread = try #require(holder.withLock { $0 })
    try thread.start { signal in
      let own = holder.withLock { $0.take() }
      own?.stop()
      hasEnded.withLock { $0 = signal.isStopped }
    }
    #expect(hasEnded.wait(until: self.limit) { $0 ? true : nil } == true)
  }

  @Test func `releasing the owner ends its thread`() throws {
    let hasEnded = Mutex(false)
    do {
      let thread = WorkerThread(name: "test")
      try thread.start { signal in
        _ = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
        hasEnded.withLock { $0 = true }
      }
    }
    #expect(hasEnded.withLock { $0 })
  }

  @Test func `join waits for the body to return by itself, without the signal`() throws {
    let (isReleased, wasStopped) = (Monitor(false), Monitor<Bool?>(nil))
    let thread = WorkerThread(name: "test")
    try thread.start { signal in
      _ = isReleased.wait { $0 ? true : nil }
      wasStopped.withLock { $0 = signal.isStopped }
    }
    let releaser = WorkerThread(name: "releaser")
    try releaser.start { _ in isReleased.withLock { $0 = true } }
    thread.join()
    #expect(wasStopped.read { $0 } == false)
    #expect(!thread.isStarted)
    releaser.join()
  }

  @Test func `stop and join detach a thread that exceeds the limit`() throws {
    let (isReleased, ended) = (Monitor(false), Monitor(0))
    for wait in [WorkerThread.stop(within:), WorkerThread.join(within:)] as [(WorkerThread) -> (MediaDuration?) -> Void]
    {
      let thread = WorkerThread(name: "hangs")
      try thread.start { _ in
        _ = isReleased.wait { $0 ? true : nil }
        ended.withLock { $0 += 1 }
      }
      wait(thread)(.milliseconds(5))
      #expect(!thread.isStarted)
    }
    #expect(ended.read { $0 } == 0)
    isReleased.withLock { $0 = true }
    #expect(ended.wait(until: self.limit) { $0 == 2 ? true : nil } == true)
  }

  @Test func `abandon gives the signal and does not wait`() throws {
    let (isReleased, isStopped) = (Monitor(false), Monitor<Bool?>(nil))
    let thread = WorkerThread(name: "hangs")
    try thread.start { signal in
      _ = isReleased.wait { $0 ? true : nil }
      isStopped.withLock { $0 = signal.isStopped }
    }
    thread.abandon()
    #expect(!thread.isStarted)
    isReleased.withLock { $0 = true }
    #expect(isStopped.wait(until: self.limit) { $0 } == true)
  }

  @Test func `signalStop gives the signal, and the thread counts as started until stop`() throws {
    let hasEnded = Monitor(false)
    let thread = WorkerThread(name: "test")
    try thread.start { signal in
      _ = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
      hasEnded.withLock { $0 = true }
    }
    thread.signalStop()
    #expect(hasEnded.wait(until: self.limit) { $0 ? true : nil } == true)
    #expect(thread.isStarted)
    thread.stop()
    #expect(!thread.isStarted)
  }

  @Test func `isCurrent is true on the thread alone`() throws {
    let isCurrent = Monitor<Bool?>(nil)
    let thread = WorkerThread(name: "test")
    #expect(!thread.isCurrent)
    // The body may run before `start` has stored the thread, so it waits for the signal to be given.
    try thread.start { [weak thread] signal in
      _ = signal.wait(until: StreamClock.system.now() + .seconds(3_600))
      isCurrent.withLock { $0 = thread?.isCurrent }
    }
    #expect(!thread.isCurrent)
    thread.signalStop()
    #expect(isCurrent.wait(until: self.limit) { $0 } == true)
    thread.stop()
  }

  @Test func `a thread has the first 15 bytes of its name`() async throws {
    let name = await WorkerThread.run(named: "a name longer than fifteen bytes") { () -> String in
      (try? String(systemFile: "/proc/thread-self/comm")) ?? ""
    }
    #expect(try #require(name) == "a name longer t\n")
  }

  @Test func `a single call returns its result, or nil when it exceeds the timeout`() async {
    #expect(await WorkerThread.run(named: "test") { 7 } == 7)
    #expect(await WorkerThread.run(named: "test", timeout: .seconds(300)) { 8 } == 8)
    let (isReleased, hasEnded) = (Monitor(false), Monitor(false))
    let result = await WorkerThread.run(named: "hangs", timeout: .milliseconds(5)) { () -> Int in
      _ = isReleased.wait { $0 ? true : nil }
      hasEnded.withLock { $0 = true }
      return 9
    }
    #expect(result == nil)
    isReleased.withLock { $0 = true }
    #expect(hasEnded.wait(until: self.limit) { $0 ? true : nil } == true)
  }

  @Test func `a detached thread runs its body`() {
    let hasRun = Monitor(false)
    #expect(WorkerThread.startDetached(named: "test") { hasRun.withLock { $0 = true } })
    #expect(hasRun.wait(until: self.limit) { $0 ? true : nil } == true)
  }
}
