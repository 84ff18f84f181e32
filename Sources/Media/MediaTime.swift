/// A point on the streams' clock, in nanoseconds.
///
/// All timestamps of one process count from the same point (an arbitrary one, such as the machine's start), so that
/// sound and picture, and streams among each other, are compared without conversion. Protocols count in ticks of a
/// timescale: 90 000 a second for video in RTP (RFC 6184 §8.2.1) and MPEG-TS, the sample rate for audio.
public struct MediaTime: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's zero; may be negative.
  public var nanoseconds: Int64

  /// The clock's zero.
  public static let zero = MediaTime(nanoseconds: 0)

  /// The point `nanoseconds` after the clock's zero.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The point `ticks` of a timescale after the clock's zero, rounded down to a nanosecond.
  ///
  /// - Parameters:
  ///   - ticks: Any value whose time fits 292 years; beyond that it is clamped.
  ///   - timescale: Ticks a second, at least 1.
  public init(ticks: Int64, timescale: Int32) {
    self.nanoseconds = Self.scale(ticks, by: 1_000_000_000, over: Int64(timescale))
  }

  /// The number of whole ticks of a timescale from the clock's zero to this point, rounded down.
  ///
  /// Rounding down (also below zero) keeps the distance of two points steady wherever the zero lies.
  public func ticks(timescale: Int32) -> Int64 {
    Self.scale(self.nanoseconds, by: Int64(timescale), over: 1_000_000_000)
  }

  /// Seconds since the clock's zero, for display and statistics.
  public var seconds: Double {
    Double(self.nanoseconds) / 1e9
  }

  /// Whether `lhs` is earlier.
  public static func < (lhs: MediaTime, rhs: MediaTime) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// The point `rhs` later; clamped at the ends of the range.
  public static func + (lhs: MediaTime, rhs: MediaDuration) -> MediaTime {
    let (sum, overflow) = lhs.nanoseconds.addingReportingOverflow(rhs.nanoseconds)
    return MediaTime(nanoseconds: overflow ? (rhs.nanoseconds < 0 ? .min : .max) : sum)
  }

  /// The point `rhs` earlier; clamped at the ends of the range.
  public static func - (lhs: MediaTime, rhs: MediaDuration) -> MediaTime {
    let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
    return MediaTime(nanoseconds: overflow ? (rhs.nanoseconds < 0 ? .max : .min) : difference)
  }

  /// The distance from `rhs` to `lhs`; clamped at the ends of the range.
  public static func - (lhs: MediaTime, rhs: MediaTime) -> MediaDuration {
    let (difference, overflow) = lhs.nanoseconds.subtractingReportingOverflow(rhs.nanoseconds)
    return MediaDuration(nanoseconds: overflow ? (lhs < rhs ? .min : .max) : difference)
  }

  /// Moves this point by a duration.
  public static func += (lhs: inout MediaTime, rhs: MediaDuration) {
    lhs = lhs + rhs
  }

  /// `value × numerator ÷ denominator` rounded down, exact in 128 bits, clamped to 64.
  static func scale(_ value: Int64, by numerator: Int64, over denominator: Int64) -> Int64 {
    precondition(denominator > 0, "a timescale counts at least one tick a second")
    let product = Int128(value) * Int128(numerator)
    var (quotient, remainder) = product.quotientAndRemainder(dividingBy: Int128(denominator))
    if remainder < 0 { quotient -= 1 }
    return Int64(clamping: quotient)
  }
}
