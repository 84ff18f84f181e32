internal import Synchronization

/// Lets tasks through one after the other, in the order in which they came.
final class Turnstile: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// Waits for its turn; each caller calls ``leave()`` once when it is through.
  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = self.state.withLock { state in
        defer { state.isTaken = true }
        if state.isTaken { state.waiting.append(continuation) }
        return !state.isTaken
      }
      if isFree { continuation.resume() }
    }
  }

  /// Lets the next one in.
  func leave() {
    let next = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
      if state.waiting.isEmpty {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
