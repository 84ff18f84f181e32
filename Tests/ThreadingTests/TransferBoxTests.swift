import Synchronization
import Testing
import Threading

@Suite("Transfer box", .timeLimit(.minutes(5)))
struct TransferBoxTests {
  /// Neither `Sendable` nor copyable.
  private struct Token: ~Copyable {
    let number: Int
    let released: Counter

    deinit {
      self.released.count.withLock { $0 += 1 }
    }
  }

  private final class Counter: Sendable {
    let count = Mutex(0)
  }

  @Test func `the first caller receives the value, later ones nil`() {
    let counter = Counter()
    let box = TransferBox(Token(number: 7, released: counter))
    if let token = box.take() {
      #expect(token.number == 7)
    } else {
      Issue.record("the box was empty")
    }
    if let token = box.take() { Issue.record("value \(token.number) was returned twice") }
    #expect(counter.count.withLock { $0 } == 1)
  }

  @Test func `a value that is not removed is released with the box`() {
    let counter = Counter()
    do {
      _ = TransferBox(Token(number: 1, released: counter))
    }
    #expect(counter.count.withLock { $0 } == 1)
  }

  @Test func `exactly one of many threads receives the value`() async {
    let box = TransferBox([1, 2, 3])
    let received = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<50 { group.addTask { box.take() == [1, 2, 3] } }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(received == 1)
  }
}
