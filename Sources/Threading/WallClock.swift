internal import CThreading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The time of day, for names and ages of files. Follows every correction of the machine's clock, unlike ``StreamClock``.
package struct WallClock: Sendable {
  /// Returns the time of day, in nanoseconds since 1970-01-01 00:00 UTC.
  package var now: @Sendable () -> Int64
  /// Whether a time service keeps the clock (`adjtimex(2)`); until then the time may be years off.
  package var isSynchronized: @Sendable () -> Bool

  /// Creates a clock of closures, for tests.
  package init(now: @escaping @Sendable () -> Int64, isSynchronized: @escaping @Sendable () -> Bool = { true }) {
    self.now = now
    self.isSynchronized = isSynchronized
  }

  /// The clock of the machine, `CLOCK_REALTIME`.
  package static let system = WallClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  } isSynchronized: {
    vidicon_clock_is_synchronized() != 0
  }
}
