internal import Synchronization

/// Lets tasks through one at a time, in the order in which they came, and no more than a few wait.
package final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var count = 0
  }

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: How many may wait.
  package init(most: Int = .max) {
    self.most = most
  }

  /// Waits for its turn.
  ///
  /// - Returns: Whether it has come; then ``leave()`` is to be called. If not, too many wait, or the task was cancelled
  ///   before.
  package func enter() async -> Bool {
    let number = self.state.withLock { state in
      state.count += 1
      return state.count
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isItsTurn = self.state.withLock { state -> Bool? in
          // Looked at in here, so that a cancellation either is seen or finds it waiting.
          if Task.isCancelled { return false }
          if state.isTaken {
            guard state.waiting.count < self.most else { return false }
            state.waiting.append((number, continuation))
            return nil
          }
          state.isTaken = true
          return true
        }
        if let isItsTurn { continuation.resume(returning: isItsTurn) }
      }
    } onCancel: {
      let waiting = self.state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiting?.continuation.resume(returning: false)
    }
  }

  /// Lets the next one through.
  package func leave() {
    let next = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if !state.waiting.isEmpty { return state.waiting.removeFirst().continuation }
      state.isTaken = false
      return nil
    }
    next?.resume(returning: true)
  }
}
