public import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The monotonic clock of every timestamp, and its mapping to wall-clock time.
///
/// Reads `CLOCK_MONOTONIC`, so timestamps never jump. The offset to `CLOCK_REALTIME` is read once per process, so that RTCP
/// sender reports, playlists and recordings agree.
public struct StreamClock: Sendable {
  /// The clock that all sources and streams of this process share.
  public static let system = StreamClock()

  /// Wall-clock time at ``MediaTime/zero``, in nanoseconds since 1970-01-01 00:00 UTC.
  private let unixTimeAtZero: Int64

  private init() {
    self.unixTimeAtZero = Self.read(CLOCK_REALTIME) - Self.read(CLOCK_MONOTONIC)
  }

  /// Returns the current time in nanoseconds; never goes back.
  public func now() -> MediaTime {
    MediaTime(nanoseconds: Self.read(CLOCK_MONOTONIC))
  }

  /// Converts a time of this clock to wall-clock time, in nanoseconds since 1970-01-01 00:00 UTC.
  public func unixTime(at time: MediaTime) -> Int64 {
    self.unixTimeAtZero &+ time.nanoseconds
  }

  /// Converts wall-clock time, in nanoseconds since 1970-01-01 00:00 UTC, to a time of this clock.
  public func mediaTime(atUnixTime nanoseconds: Int64) -> MediaTime {
    MediaTime(nanoseconds: nanoseconds &- self.unixTimeAtZero)
  }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
