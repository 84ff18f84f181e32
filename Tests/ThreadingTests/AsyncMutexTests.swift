import Synchronization
import Testing
import Threading

@Suite("Async mutex", .timeLimit(.minutes(5)))
struct AsyncMutexTests {
  private final class Order: Sendable {
    let numbers = Mutex<[Int]>([])
  }

  @Test func `critical sections run one at a time, and surplus waiters are rejected`() async {
    let mutex = AsyncMutex(maximumWaiters: 3)
    #expect(await mutex.lock())
    let order = Order()
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<5 {
        group.addTask {
          guard await mutex.lock() else { return false }
          order.numbers.withLock { $0.append(number) }
          mutex.unlock()
          return true
        }
      }
      // The two tasks that arrive last find three waiters.
      var rejected = 0
      while rejected < 2, let isLocked = await group.next() { rejected += isLocked ? 0 : 1 }
      #expect(order.numbers.withLock { $0.isEmpty })
      mutex.unlock()
      for await isLocked in group { #expect(isLocked) }
    }
    #expect(order.numbers.withLock { $0.count } == 3)
    #expect(await mutex.lock())
  }

  @Test func `waiters are served in the order of their arrival`() async {
    let order = Order()
    let mutex = AsyncMutex()
    #expect(await mutex.lock())
    var tasks: [Task<Void, Never>] = []
    for number in 0..<20 {
      let (started, continuation) = AsyncStream<Void>.makeStream()
      tasks.append(
        Task { @MainActor in
          // `lock` runs on the main actor up to its suspension, hence before anything else there.
          continuation.finish()
          guard await mutex.lock() else { return }
          order.numbers.withLock { $0.append(number) }
          mutex.unlock()
        })
      for await _ in started {}
      await MainActor.run {}
    }
    mutex.unlock()
    for task in tasks { await task.value }
    #expect(order.numbers.withLock { $0 } == Array(0..<20))
  }

  @Test func `a cancelled waiter returns at once, and the others keep their places`() async {
    let mutex = AsyncMutex(maximumWaiters: 2)
    #expect(await mutex.lock())
    let waiters = (0..<2).map { _ in Task { await mutex.lock() } }
    waiters[0].cancel()
    #expect(await !waiters[0].value)
    mutex.unlock()
    #expect(await waiters[1].value)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await mutex.lock()
    }
    #expect(await !cancelled.value)
    mutex.unlock()
    // The cancelled waiters left the mutex unlocked.
    #expect(await mutex.lock())
  }

  @Test func `without room for waiters a locked mutex rejects, an unlocked one does not`() async {
    let mutex = AsyncMutex(maximumWaiters: 0)
    #expect(await mutex.lock())
    #expect(await !mutex.lock())
    mutex.unlock()
    #expect(await mutex.lock())
  }
}
