internal import Synchronization

/// Those who want to be told of something as it happens. Who is slow misses the oldest.
package final class Subscriptions<Element: Sendable>: Sendable {
  private struct State {
    var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
    var lastNumber = 0
    var hasEnded = false
  }

  private let state = Mutex(State())

  /// Nobody yet.
  package init() {}

  /// A new one, which begins now, and ends with ``finish()`` or when nobody reads it any more.
  ///
  /// - Parameter limit: How much is kept for who does not read.
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

  /// How many there are.
  package var count: Int { self.state.withLock { $0.continuations.count } }

  /// Tells all.
  package func yield(_ element: Element) {
    // Not under the lock: the one that ends just now takes it.
    for continuation in self.state.withLock({ $0.continuations }).values { continuation.yield(element) }
  }

  /// Ends all, and those that are still to come.
  package func finish() {
    let continuations = self.state.withLock { state in
      state.hasEnded = true
      defer { state.continuations = [:] }
      return state.continuations
    }
    for continuation in continuations.values { continuation.finish() }
  }
}
