internal import Libc
package import Media

/// A value behind a lock, with a condition on which threads wait for it to change (Hoare's monitor).
///
/// ``withLock(_:)`` and a successful ``take(until:_:)`` may change the value and wake all waiting threads;
/// ``read(_:)`` and ``wait(until:for:)`` only look at it and wake none, nor does ``withLockWakingNone(_:)``. Where no thread waits, use
/// `Synchronization.Mutex`.
///
/// Queues between two threads are one, such as that from a source to its pipeline:
///
/// ```swift
/// let state = Monitor(State())
/// state.withLock { $0.isEnded = true }                     // any thread; wakes the other
/// _ = state.wait { $0.isEnded ? true : nil }               // blocks until there is a value
/// ```
// Safe because `state` is only accessed while `mutex` is held.
package final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  /// A monitor with an initial value.
  package init(_ state: sending State) {
    self.state = state
    self.mutex = .allocate(capacity: 1)
    self.changed = .allocate(capacity: 1)
    pthread_mutex_init(self.mutex, nil)
    #if canImport(Darwin)
    pthread_cond_init(self.changed, nil)
    #else
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(self.changed, &attributes)
    pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(self.changed)
    pthread_mutex_destroy(self.mutex)
    self.changed.deallocate()
    self.mutex.deallocate()
  }

  /// Mutates the value and wakes all waiters.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(self.mutex)
    defer {
      pthread_cond_broadcast(self.changed)
      pthread_mutex_unlock(self.mutex)
    }
    return try body(&self.state)
  }

  /// Reads the value without waking waiters.
  package func read<Result>(_ body: (State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(self.mutex)
    defer { pthread_mutex_unlock(self.mutex) }
    return try body(self.state)
  }

  /// Mutates parts of the value on which no waiter's condition depends, such as counters, without waking waiters.
  package func withLockWakingNone<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(self.mutex)
    defer { pthread_mutex_unlock(self.mutex) }
    return try body(&self.state)
  }

  /// Blocks until `body` returns a value, without changing the monitor's value.
  ///
  /// - Parameters:
  ///   - deadline: When to give up; nil to wait without limit.
  ///   - body: Runs with the lock held, immediately and after each change.
  /// - Returns: The result of `body`; nil when the deadline has passed.
  package func wait<Result>(until deadline: MediaTime? = nil, for body: (State) -> Result?) -> Result? {
    self.block(until: deadline) { body($0) }
  }

  /// Blocks until `body` returns a value, then wakes all other waiters, since `body` may have changed the monitor's value.
  ///
  /// - Parameters:
  ///   - deadline: When to give up; nil to wait without limit.
  ///   - body: Runs with the lock held, immediately and after each change. It may mutate the value only when it returns a
  ///     result.
  /// - Returns: The result of `body`; nil when the deadline has passed.
  package func take<Result>(until deadline: MediaTime? = nil, _ body: (inout State) -> Result?) -> Result? {
    self.block(until: deadline) { state in
      let result = body(&state)
      if result != nil { pthread_cond_broadcast(self.changed) }
      return result
    }
  }

  private func block<Result>(until deadline: MediaTime?, for body: (inout State) -> Result?) -> Result? {
    pthread_mutex_lock(self.mutex)
    defer { pthread_mutex_unlock(self.mutex) }
    while true {
      if let result = body(&self.state) { return result }
      guard let deadline else {
        pthread_cond_wait(self.changed, self.mutex)
        continue
      }
      let remaining = deadline - StreamClock.system.now()
      if remaining <= .zero { return nil }
      #if canImport(Darwin)
      var time = timespec(nanoseconds: remaining.nanoseconds)
      pthread_cond_timedwait_relative_np(self.changed, self.mutex, &time)
      #else
      var time = timespec(nanoseconds: deadline.nanoseconds)
      pthread_cond_timedwait(self.changed, self.mutex, &time)
      #endif
    }
  }
}

extension timespec {
  fileprivate init(nanoseconds: Int64) {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.init(tv_sec: Int(seconds), tv_nsec: Int(rest))
  }
}
