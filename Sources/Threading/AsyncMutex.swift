internal import Synchronization

/// Mutual exclusion for tasks, in first-in, first-out order, with a bounded number of waiters.
///
/// ```swift
/// guard await mutex.lock() else { throw .busy }
/// defer { mutex.unlock() }
/// ```
package final class AsyncMutex: Sendable {
  private struct State {
    var isLocked = false
    var waiters: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    var lastNumber = 0
  }

  private let maximumWaiters: Int
  private let state = Mutex(State())

  /// - Parameter maximumWaiters: Number of tasks that may wait; ``lock()`` returns false for any further one.
  package init(maximumWaiters: Int = .max) {
    self.maximumWaiters = maximumWaiters
  }

  /// Waits until the mutex is free and locks it.
  ///
  /// - Returns: True when locked; the caller must then call ``unlock()``. False when too many tasks wait already, or when the
  ///   task was cancelled before it got the lock.
  package func lock() async -> Bool {
    let number = self.state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isLocked = self.state.withLock { state -> Bool? in
          // Checked with the lock held: a cancellation is either seen here or finds the waiter in the list.
          if Task.isCancelled { return false }
          if state.isLocked {
            guard state.waiters.count < self.maximumWaiters else { return false }
            state.waiters.append((number, continuation))
            return nil
          }
          state.isLocked = true
          return true
        }
        if let isLocked { continuation.resume(returning: isLocked) }
      }
    } onCancel: {
      let waiter = self.state.withLock { state in
        state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  /// Unlocks the mutex and resumes the task that was the first to wait.
  package func unlock() {
    let next = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if !state.waiters.isEmpty { return state.waiters.removeFirst().continuation }
      state.isLocked = false
      return nil
    }
    next?.resume(returning: true)
  }
}
