internal import Synchronization

/// Delivers elements to any number of async sequences; a slow subscriber misses the oldest.
package final class Subscriptions<Element: Sendable>: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    var lastNumber = 0
    var hasEnded = false
  }

  private let state = Mutex(State())

  /// Creates a list without subscribers.
  package init() {}

  /// Subscribes from now on; the sequence ends with ``finish()`` or when its reader is gone.
  ///
  /// - Parameter limit: Maximum number of unread elements; older ones are dropped.
  package func subscribe(keeping limit: Int) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream<Element>.makeStream(bufferingPolicy: .bufferingNewest(limit))
    let number = self.state.withLock { state -> Int? in
      guard !state.hasEnded else { return nil }
      state.lastNumber += 1
      state.continuations[state.lastNumber] = continuation
      return state.lastNumber
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.continuations.removeValue(forKey: number) }
    }
    return stream
  }

  /// Current number of subscribers.
  package var count: Int { self.state.withLock { $0.continuations.count } }

  /// Sends an element to all subscribers.
  package func yield(_ element: Element) {
    // Not under the lock: a termination handler acquires it.
    for continuation in self.state.withLock({ $0.continuations }).values { continuation.yield(element) }
  }

  /// Ends all sequences, current and future.
  package func finish() {
    let continuations = self.state.withLock { state in
      state.hasEnded = true
      defer { state.continuations = [:] }
      return state.continuations
    }
    for continuation in continuations.values { continuation.finish() }
  }
}
