#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A time in words: date and time of day in UTC.
struct TimeOfDay {
  /// Such as "2026-11-21".
  let date: String
  /// Such as "14:05:09.033"; what is below a millisecond is cut off.
  let time: String

  /// - Parameter unixNanoseconds: Nanoseconds since 1970-01-01 00:00 UTC.
  init(unixNanoseconds: Int64) {
    let milliseconds = max(unixNanoseconds, 0) / 1_000_000
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    self.date =
      "\(Self.digits(parts.tm_year + 1900, 4))-\(Self.digits(parts.tm_mon + 1, 2))-\(Self.digits(parts.tm_mday, 2))"
    self.time =
      "\(Self.digits(parts.tm_hour, 2)):\(Self.digits(parts.tm_min, 2)):\(Self.digits(parts.tm_sec, 2))"
      + ".\(Self.digits(Int32(milliseconds % 1_000), 3))"
  }

  private static func digits(_ value: Int32, _ count: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
  }
}
