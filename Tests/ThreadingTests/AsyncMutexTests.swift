import Media
import Synchronization
import Testing
import Threading

@Suite("Turns", .timeLimit(.minutes(1)))
struct AsyncMutexTests {
  private final class Order: Sendable {
    let numbers = Mutex<[Int]>([])
  }

  @Test func `changes come one after the other, and too many are sent away`() async {
    let turns = AsyncMutex(maximumWaiters: 3)
    #expect(await turns.lock())
    let order = Order()
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<5 {
        group.addTask {
          guard await turns.lock() else { return false }
          order.numbers.withLock { $0.append(number) }
          turns.unlock()
          return true
        }
      }
      // Two find three waiting, whichever they are.
      var sentAway = 0
      while sentAway < 2, let isThrough = await group.next() { sentAway += isThrough ? 0 : 1 }
      #expect(order.numbers.withLock { $0.isEmpty })
      turns.unlock()
      for await isThrough in group { #expect(isThrough) }
    }
    #expect(order.numbers.withLock { $0.count } == 3)
    #expect(await turns.lock())
  }

  @Test func `who is cancelled waits no longer, and the others keep their turns`() async {
    let turns = AsyncMutex(maximumWaiters: 2)
    #expect(await turns.lock())
    let waiting = (0..<2).map { _ in Task { await turns.lock() } }
    waiting[0].cancel()
    #expect(await !waiting[0].value)
    turns.unlock()
    #expect(await waiting[1].value)
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await turns.lock()
    }
    #expect(await !late.value)
    turns.unlock()
    // Nobody has it, though one who was cancelled had asked for it.
    #expect(await turns.lock())
  }
}
