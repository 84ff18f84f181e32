internal import Synchronization

/// A closure that runs at most once, on the thread of the first caller.
package final class OnceAction: Sendable {
  private let body: Mutex<(@Sendable () -> Void)?>

  /// - Parameter body: Released after it has run.
  package init(_ body: @escaping @Sendable () -> Void) {
    self.body = Mutex(body)
  }

  /// Runs the closure unless it has been run; does not wait for a concurrent first call to finish.
  package func run() {
    self.body.withLock { $0.take() }?()
  }
}
