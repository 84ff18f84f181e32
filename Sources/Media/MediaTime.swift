/// A point in time on the streams' clock, in nanoseconds.
///
/// All timestamps of one process count from the same arbitrary zero, such as the machine's start, so that audio, video
/// and streams are compared without conversion. Protocols count ticks of a timescale: 90,000 per second for video in RTP
/// (RFC 6184 §8.2.1) and MPEG-TS, the sample rate for audio.
///
/// Capturers stamp frames with it; from there on it is passed along unchanged:
///
/// ```swift
/// let age = StreamClock.system.now() - frame.timestamp    // a MediaDuration
/// ```
public struct MediaTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's zero; may be negative.
  public var nanoseconds: Int64

  /// Zero of the streams' clock: an arbitrary point in time, such as the machine's start.
  public static let zero = MediaTime(nanoseconds: 0)

  /// Creates the time that is `nanoseconds` after the clock's zero.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates the time that is `ticks` after the clock's zero, rounded down to a nanosecond.
  ///
  /// - Parameters:
  ///   - ticks: Times beyond ±292 years are clamped.
  ///   - timescale: Ticks per second, at least 1.
  public init(ticks: Int64, timescale: Int32) {
    self.nanoseconds = Self.scale(ticks, by: 1_000_000_000, over: Int64(timescale))
  }

  /// Number of whole ticks since the clock's zero, rounded down.
  ///
  /// Rounding down below zero as well keeps tick intervals independent of the position of the zero.
  ///
  /// - Parameter timescale: Ticks per second, at least 1.
  public func ticks(timescale: Int32) -> Int64 {
    Self.scale(self.nanoseconds, by: Int64(timescale), over: 1_000_000_000)
  }

  /// Seconds since the clock's zero, for display and statistics.
  public var seconds: Double {
    Double(self.nanoseconds) / 1e9
  }

  /// Whether `lhs` is earlier than `rhs`.
  public static func < (lhs: MediaTime, rhs: MediaTime) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// Time after a duration; clamped to the range of 64 bits.
  public static func + (lhs: MediaTime, rhs: MediaDuration) -> MediaTime {
    let (sum, overflow) = lhs.nanoseconds.addingReportingOverflow(rhs.nanoseconds)
    return MediaTime(nanoseconds: overflow ? (rhs.nanoseconds < 0 ? .min : .max) : sum)
  }

  /// Time before a duration; clamped to the range of 64 bits.
  public static func - (lhs: MediaTime, rhs: MediaDuration) -> MediaTime {
    let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
    return MediaTime(nanoseconds: overflow ? (rhs.nanoseconds < 0 ? .max : .min) : difference)
  }

  /// Duration from `rhs` to `lhs`; clamped to the range of 64 bits.
  public static func - (lhs: MediaTime, rhs: MediaTime) -> MediaDuration {
    let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
    return MediaDuration(nanoseconds: overflow ? (lhs < rhs ? .min : .max) : difference)
  }

  /// Advances the time by a duration; clamped to the range of 64 bits.
  public static func += (lhs: inout MediaTime, rhs: MediaDuration) {
    lhs = lhs + rhs
  }

  /// `value × numerator ÷ denominator`, computed in 128 bits, rounded down, clamped to 64 bits.
  static func scale(_ value: Int64, by numerator: Int64, over denominator: Int64) -> Int64 {
    precondition(denominator > 0, "a timescale has at least one tick per second")
    let product = Int128(value) * Int128(numerator)
    var (quotient, remainder) = product.quotientAndRemainder(dividingBy: Int128(denominator))
    if remainder < 0 { quotient -= 1 }
    return Int64(clamping: quotient)
  }
}
