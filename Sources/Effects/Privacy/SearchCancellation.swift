internal import Synchronization

/// Ends the wait for a search from another thread: the search itself is in use while it waits.
final class SearchCancellation: Sendable {
  private let state = Mutex<(isCancelled: Bool, threads: DetectionThreads?)>((false, nil))

  /// Whether no further search is to begin.
  var isCancelled: Bool { self.state.withLock(\.isCancelled) }

  /// Ends the threads that are waited for, and lets none be started until ``reset()``.
  func cancel() {
    let threads = self.state.withLock { state in
      state.isCancelled = true
      return state.threads.take()
    }
    threads?.stop()
  }

  /// Allows searches again.
  func reset() { self.state.withLock { $0.isCancelled = false } }

  /// Sets the threads that are waited for from now on; a cancellation, also an earlier one, stops them.
  func watch(_ threads: DetectionThreads) {
    let isCancelled = self.state.withLock { state in
      state.threads = threads
      return state.isCancelled
    }
    if isCancelled { threads.stop() }
  }
}
