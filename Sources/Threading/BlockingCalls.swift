internal import Synchronization

/// Runs blocking calls with a time limit, each on a thread of its own, and none while an earlier call of the same kind has
/// not returned: a driver that hangs would otherwise occupy another thread with each request.
package final class BlockingCalls: Sendable {
  /// Maximum number of calls that have not returned, over all kinds.
  package static let maximumCount = 8

  private let running = Mutex<Set<String>>([])

  /// Creates a limiter of calls, none of which is running.
  package init() {}

  /// Runs a call.
  ///
  /// - Parameters:
  ///   - kind: Calls of one kind exclude each other, also after the caller's time has passed.
  ///   - name: Name of the thread, at most 15 bytes on Linux.
  ///   - timeout: Maximum time the caller waits; the thread then finishes the call by itself, and its result is discarded.
  ///   - body: The blocking call.
  /// - Returns: The call's result; nil on timeout, when an earlier call of the kind has not returned, when
  ///   ``maximumCount`` calls have not, or when no thread can be started.
  package func run<Result: Sendable>(
    _ kind: String, named name: String, timeout: Duration, _ body: @escaping @Sendable () -> Result
  ) async -> Result? {
    let isFree = self.running.withLock { running in
      running.count < Self.maximumCount && running.insert(kind).inserted
    }
    guard isFree else { return nil }
    return await withTimeout(timeout) {
      let result = await WorkerThread.run(named: name, body)
      self.running.withLock { _ = $0.remove(kind) }
      return result
    } ?? nil
  }

  /// Number of calls that have not returned.
  var count: Int { self.running.withLock { $0.count } }
}
