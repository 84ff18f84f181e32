internal import CSystemCalls
internal import Libc

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

/// Difference of the wall clock and the monotonic clock, which follows steps. Pure: measurements are arguments.
///
/// The difference is constant while a time service slews both clocks. It steps when the wall clock is set, at a leap second,
/// and when the machine wakes up, since the monotonic clock rests while it sleeps.
struct WallClockOffset: Hashable {
  /// Minimum change that counts as a step; smaller ones are delays between the readings of the two clocks.
  static let minimumStep: Int64 = 20_000_000

  /// Wall-clock time at zero of the monotonic clock, in nanoseconds since 1970-01-01 00:00 UTC.
  private(set) var unixTimeAtZero: Int64
  /// Number of steps.
  private(set) var stepCount = 0

  init(unixTimeAtZero: Int64) {
    self.unixTimeAtZero = unixTimeAtZero
  }

  /// Adopts a measurement that differs by a step.
  mutating func update(unixTimeAtZero measured: Int64) {
    guard measured.subtractingReportingOverflow(self.unixTimeAtZero).partialValue.magnitude >= Self.minimumStep else {
      return
    }
    self.unixTimeAtZero = measured
    self.stepCount += 1
  }

  /// Offset of the reading of the wall clock that has the minimum time between the readings of the monotonic clock before
  /// and after it; all in nanoseconds.
  ///
  /// - Parameter readings: At least one.
  static func best(of readings: [(before: Int64, wall: Int64, after: Int64)]) -> Int64 {
    let best = readings.min { $0.after - $0.before < $1.after - $1.before }
    // No trap: callers pass at least one reading.
    return best.map { $0.wall - ($0.before + ($0.after - $0.before) / 2) }!
  }
}
