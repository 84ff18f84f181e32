/// A span of time in nanoseconds: the difference of two ``MediaTime`` values.
///
/// `Duration` of the standard library counts attoseconds in 128 bits, which is more precision and cost than arithmetic
/// for every frame and sample needs. Arithmetic of two durations traps on overflow, at 292 years.
public struct MediaDuration: Hashable, Comparable, Sendable {
  /// Length in nanoseconds; may be negative.
  public var nanoseconds: Int64

  /// A duration of 0 ns.
  public static let zero = MediaDuration(nanoseconds: 0)

  /// Creates a duration of whole nanoseconds.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a duration of whole microseconds.
  public static func microseconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000)
  }

  /// Creates a duration of whole milliseconds.
  public static func milliseconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000_000)
  }

  /// Creates a duration of whole seconds.
  public static func seconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000_000_000)
  }

  /// Creates the sum of seconds and nanoseconds, or the nearest duration when it is out of range.
  package init(clampingSeconds seconds: Int64, nanoseconds: Int64) {
    let (whole, isOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isSumOverflow) = whole.addingReportingOverflow(nanoseconds)
    self.nanoseconds = isOverflow || isSumOverflow ? (seconds < 0 ? .min : .max) : sum
  }

  /// Duration of `count` ticks or audio samples, rounded down to a nanosecond.
  ///
  /// - Parameter timescale: Ticks per second, at least 1.
  public static func ticks(_ count: Int64, timescale: Int32) -> MediaDuration {
    MediaDuration(nanoseconds: MediaTime.scale(count, by: 1_000_000_000, over: Int64(timescale)))
  }

  /// Number of whole ticks in this duration, rounded down.
  ///
  /// - Parameter timescale: Ticks per second, at least 1.
  public func ticks(timescale: Int32) -> Int64 {
    MediaTime.scale(self.nanoseconds, by: Int64(timescale), over: 1_000_000_000)
  }

  /// Length in seconds, for display and statistics.
  public var seconds: Double {
    Double(self.nanoseconds) / 1e9
  }

  /// Whether `lhs` is less than `rhs`; negative durations are less than zero.
  public static func < (lhs: MediaDuration, rhs: MediaDuration) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// Sum of two durations; traps on overflow.
  public static func + (lhs: MediaDuration, rhs: MediaDuration) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds + rhs.nanoseconds)
  }

  /// Difference of two durations, may be negative; traps on overflow.
  public static func - (lhs: MediaDuration, rhs: MediaDuration) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds - rhs.nanoseconds)
  }

  /// Duration multiplied by a whole number; traps on overflow.
  public static func * (lhs: MediaDuration, rhs: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds * rhs)
  }

  /// Duration divided by a whole number, rounded toward zero; traps for 0.
  public static func / (lhs: MediaDuration, rhs: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds / rhs)
  }
}
