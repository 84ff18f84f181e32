/// A span of time on the streams' clock, in nanoseconds: what lies between two ``MediaTime`` points.
///
/// The standard library's `Duration` counts attoseconds in 128 bits; a stream needs neither, and does this arithmetic
/// for every frame and sample.
public struct MediaDuration: Hashable, Comparable, Sendable {
  /// The length; negative when it reaches back.
  public var nanoseconds: Int64

  /// No time at all.
  public static let zero = MediaDuration(nanoseconds: 0)

  /// A span of nanoseconds.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// A span of whole microseconds.
  public static func microseconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000)
  }

  /// A span of whole milliseconds.
  public static func milliseconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000_000)
  }

  /// A span of whole seconds.
  public static func seconds(_ count: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: count * 1_000_000_000)
  }

  /// The time that `count` samples of sound or ticks take, rounded down to a nanosecond.
  ///
  /// - Parameter timescale: Ticks a second, at least 1.
  public static func ticks(_ count: Int64, timescale: Int32) -> MediaDuration {
    MediaDuration(nanoseconds: MediaTime.scale(count, by: 1_000_000_000, over: Int64(timescale)))
  }

  /// The number of whole ticks of a timescale in this span, rounded down.
  public func ticks(timescale: Int32) -> Int64 {
    MediaTime.scale(self.nanoseconds, by: Int64(timescale), over: 1_000_000_000)
  }

  /// The length in seconds, for display and statistics.
  public var seconds: Double {
    Double(self.nanoseconds) / 1e9
  }

  /// Whether `lhs` is shorter.
  public static func < (lhs: MediaDuration, rhs: MediaDuration) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// Both spans together.
  public static func + (lhs: MediaDuration, rhs: MediaDuration) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds + rhs.nanoseconds)
  }

  /// What is left of `lhs` without `rhs`.
  public static func - (lhs: MediaDuration, rhs: MediaDuration) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds - rhs.nanoseconds)
  }

  /// The span `rhs` times over.
  public static func * (lhs: MediaDuration, rhs: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds * rhs)
  }

  /// An equal part of the span.
  public static func / (lhs: MediaDuration, rhs: Int64) -> MediaDuration {
    MediaDuration(nanoseconds: lhs.nanoseconds / rhs)
  }
}
