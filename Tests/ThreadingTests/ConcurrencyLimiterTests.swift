import Synchronization
import Testing
import Threading

@Suite("Concurrency limiter", .timeLimit(.minutes(5)))
struct ConcurrencyLimiterTests {
  private final class Counts: Sendable {
    let value = Mutex((running: 0, maximum: 0, admitted: 0))
  }

  @Test func `as many operations as the limit acquire a place, and one more after each release`() {
    let limiter = ConcurrencyLimiter(limit: 2)
    #expect([limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire()] == [true, true, false])
    limiter.release()
    #expect([limiter.tryAcquire(), limiter.tryAcquire()] == [true, false])
  }

  @Test func `a limit of zero admits no operation`() {
    #expect(!ConcurrencyLimiter(limit: 0).tryAcquire())
  }

  @Test func `concurrent callers never exceed the limit`() async {
    let limiter = ConcurrencyLimiter(limit: 3)
    let counts = Counts()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 {
        group.addTask {
          guard limiter.tryAcquire() else { return }
          counts.value.withLock { counts in
            counts.running += 1
            counts.admitted += 1
            counts.maximum = max(counts.maximum, counts.running)
          }
          await Task.yield()
          counts.value.withLock { $0.running -= 1 }
          limiter.release()
        }
      }
    }
    let (running, maximum, admitted) = counts.value.withLock { $0 }
    #expect(running == 0)
    #expect((1...3).contains(maximum))
    #expect(admitted >= 3)
    #expect([limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire()].count { $0 } == 3)
  }
}
