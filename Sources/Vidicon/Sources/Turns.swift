internal import Synchronization

/// Lets tasks through one at a time, in the order in which they came, and no more than a few wait.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [CheckedContinuation<Bool, Never>] = []
  }

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: How many may wait.
  init(most: Int) {
    self.most = most
  }

  /// Waits for its turn.
  ///
  /// - Returns: Whether it has come; then ``leave()`` is to be called. If not, too many wait.
  func enter() async -> Bool {
    await withCheckedContinuation { continuation in
      let isItsTurn = self.state.withLock { state -> Bool? in
        if state.isTaken {
          guard state.waiting.count < self.most else { return false }
          state.waiting.append(continuation)
          return nil
        }
        state.isTaken = true
        return true
      }
      if let isItsTurn { continuation.resume(returning: isItsTurn) }
    }
  }

  /// Lets the next one through.
  func leave() {
    let next = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.isTaken = false
      return nil
    }
    next?.resume(returning: true)
  }
}
