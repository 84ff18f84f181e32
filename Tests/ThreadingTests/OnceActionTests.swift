import Synchronization
import Testing
import Threading

@Suite("Once action", .timeLimit(.minutes(5)))
struct OnceActionTests {
  @Test func `only the first of several calls runs the closure`() {
    let runs = Mutex(0)
    let action = OnceAction { runs.withLock { $0 += 1 } }
    #expect(runs.withLock { $0 } == 0)
    for _ in 0..<3 { action.run() }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func `concurrent calls run the closure once`() async {
    let runs = Mutex(0)
    let action = OnceAction { runs.withLock { $0 += 1 } }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 { group.addTask { action.run() } }
    }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func `the closure may call the action again, and is released after it has run`() {
    final class Resource: Sendable {}
    let holder = Mutex<OnceAction?>(nil)
    weak var weakResource: Resource?
    do {
      let resource = Resource()
      weakResource = resource
      let action = OnceAction {
        withExtendedLifetime(resource) {}
        holder.withLock { $0 }?.run()
      }
      holder.withLock { $0 = action }
      action.run()
    }
    #expect(weakResource == nil)
    #expect(holder.withLock { $0 != nil })
  }
}
