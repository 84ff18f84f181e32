internal import Synchronization

/// Limits the number of operations that run at the same time; never waits.
package final class ConcurrencyLimiter: Sendable {
  private let available: Mutex<Int>

  /// - Parameter limit: Maximum number of concurrent operations.
  package init(limit: Int) {
    self.available = Mutex(limit)
  }

  /// Reserves a place.
  ///
  /// - Returns: False when the limit is reached. On true the caller must call ``release()``.
  package func tryAcquire() -> Bool {
    self.available.withLock { available in
      guard available > 0 else { return false }
      available -= 1
      return true
    }
  }

  /// Frees a place reserved by ``tryAcquire()``.
  package func release() {
    self.available.withLock { $0 += 1 }
  }
}
