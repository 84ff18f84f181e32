package import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

// Safe because `state` is only touched while `mutex` is held.
/// A value behind a lock, on whose changes threads can wait: a monitor after Hoare (1974).
///
/// Where nobody waits, `Synchronization.Mutex` is the one to use.
package final class Monitor<State>: @unchecked Sendable {
  private var state: State
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>

  /// A monitor of a value.
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

  /// Reads or changes the value; those who wait look at it again.
  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(self.mutex)
    defer {
      pthread_cond_broadcast(self.changed)
      pthread_mutex_unlock(self.mutex)
    }
    return try body(&self.state)
  }

  /// Waits until the value is such that `body` has a result, which it may take out of it.
  ///
  /// - Parameters:
  ///   - deadline: When to give up; nil to wait for ever.
  ///   - body: Called with the lock held, at once and after each change.
  /// - Returns: What `body` returned, or nil once the deadline has passed.
  package func wait<Result>(until deadline: MediaTime? = nil, for body: (inout State) -> Result?) -> Result? {
    pthread_mutex_lock(self.mutex)
    defer { pthread_mutex_unlock(self.mutex) }
    while true {
      if let result = body(&self.state) { return result }
      guard let deadline else {
        pthread_cond_wait(self.changed, self.mutex)
        continue
      }
      let left = deadline - StreamClock.system.now()
      if left <= .zero { return nil }
      #if canImport(Darwin)
      var time = timespec(nanoseconds: left.nanoseconds)
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
