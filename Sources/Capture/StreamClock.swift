public import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The clock that every timestamp is taken from, and its one mapping to the time of day.
///
/// It runs evenly (`CLOCK_MONOTONIC`), so no timestamp ever jumps; the distance to the time of day is read once, so
/// that sender reports, playlists and recordings agree, for as long as the process lives.
public struct StreamClock: Sendable {
  /// The clock of this process.
  public static let system = StreamClock()

  /// The time of day at ``MediaTime/zero``, in nanoseconds since 1970-01-01 00:00 UTC.
  private let unixTimeAtZero: Int64

  private init() {
    self.unixTimeAtZero = Self.read(CLOCK_REALTIME) - Self.read(CLOCK_MONOTONIC)
  }

  /// The present time.
  public func now() -> MediaTime {
    MediaTime(nanoseconds: Self.read(CLOCK_MONOTONIC))
  }

  /// The time of day at a point, in nanoseconds since 1970-01-01 00:00 UTC.
  public func unixTime(at time: MediaTime) -> Int64 {
    self.unixTimeAtZero &+ time.nanoseconds
  }

  /// The point at a time of day, given in nanoseconds since 1970-01-01 00:00 UTC.
  public func mediaTime(atUnixTime nanoseconds: Int64) -> MediaTime {
    MediaTime(nanoseconds: nanoseconds &- self.unixTimeAtZero)
  }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
