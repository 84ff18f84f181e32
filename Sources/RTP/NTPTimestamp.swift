/// An NTP timestamp: seconds since 1900 in 32 bits and their fraction in 32 bits, RFC 3550 §4.
public struct NTPTimestamp: Hashable, Sendable {
  /// Seconds in the upper half, 1 / 2³² seconds in the lower.
  public var rawValue: UInt64

  /// Seconds from 1900 to 1970: 70 years, 17 of them leap years.
  private static let secondsToUnixEpoch: Int64 = (70 * 365 + 17) * 86_400
  private static let nanosecondsInSecond: Int64 = 1_000_000_000

  /// Creates a timestamp from 32 bits of seconds and 32 bits of their fraction.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// A timestamp from nanoseconds since 1970-01-01 00:00 UTC; the seconds wrap in 2036.
  public init(unixNanoseconds: Int64) {
    var (seconds, rest) = unixNanoseconds.quotientAndRemainder(dividingBy: Self.nanosecondsInSecond)
    if rest < 0 {
      seconds -= 1
      rest += Self.nanosecondsInSecond
    }
    let fraction = ((UInt64(rest) << 32) + UInt64(Self.nanosecondsInSecond / 2)) / UInt64(Self.nanosecondsInSecond)
    let wrapped = UInt32(truncatingIfNeeded: seconds + Self.secondsToUnixEpoch)
    self.rawValue = UInt64(wrapped) << 32 | fraction
  }

  /// Nanoseconds since 1970-01-01 00:00 UTC; the time is assumed to be between 1968 and 2104, RFC 4330 §3.
  public var unixNanoseconds: Int64 {
    var seconds = Int64(self.rawValue >> 32)
    if seconds < 1 << 31 { seconds += 1 << 32 }
    let fraction = (self.rawValue & 0xFFFF_FFFF) * UInt64(Self.nanosecondsInSecond)
    return (seconds - Self.secondsToUnixEpoch) * Self.nanosecondsInSecond + Int64((fraction + (1 << 31)) >> 32)
  }

  /// The middle 32 bits, in 1 / 65,536 seconds: LSR of a report block, RFC 3550 §6.4.1.
  public var middle: UInt32 {
    UInt32(truncatingIfNeeded: self.rawValue >> 16)
  }
}
