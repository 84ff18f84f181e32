package import Dispatch
internal import Media
internal import Threading

/// Blocks threads of a test until it is opened, for five minutes at most.
package final class Gate: Sendable {
  private let state = Monitor((isOpen: false, waiting: 0))

  package init() {}

  /// Number of threads that have called ``pass()``.
  package var waiting: Int { self.state.read { $0.waiting } }

  package func open() { self.state.withLock { $0.isOpen = true } }

  /// Waits until it is open.
  package func pass() {
    self.state.withLock { $0.waiting += 1 }
    _ = self.state.wait(until: StreamClock.system.now() + WaitLimit.duration) { $0.isOpen ? true : nil }
  }

  /// Returns `value` after ``open()``.
  package func result<Value>(_ value: Value) -> Value {
    self.pass()
    return value
  }
}

extension DispatchSemaphore {
  /// Waits for a signal, for five minutes at most, after which the test fails by what it expects.
  package func waitWithLimit() {
    _ = self.wait(timeout: .now() + .seconds(WaitLimit.seconds))
  }
}
