/// Date and time of day in the Gregorian calendar, UTC, with milliseconds.
package struct CalendarTime: Hashable, Sendable {
  /// Astronomical year; may be zero or negative.
  package var year: Int64
  /// Month, 1 to 12.
  package var month: Int
  /// Day of the month, 1 to 31.
  package var day: Int
  /// Day of the week, 0 (Sunday) to 6.
  package var weekday: Int
  /// Hour, 0 to 23.
  package var hour: Int
  /// Minute, 0 to 59.
  package var minute: Int
  /// Second, 0 to 59; Unix time has no leap seconds.
  package var second: Int
  /// Millisecond, 0 to 999.
  package var millisecond: Int

  /// Converts Unix time, rounded to the nearest millisecond.
  ///
  /// - Parameter unixTime: Time since 1970-01-01 00:00 UTC; may be negative.
  package init(unixTime: MediaDuration) {
    let half: Int64 = 500_000
    let milliseconds = Self.divide(min(unixTime.nanoseconds, .max - half) + half, by: 1_000_000).quotient
    let (days, rest) = Self.divide(milliseconds, by: 86_400_000)
    self.hour = rest / 3_600_000
    self.minute = rest / 60_000 % 60
    self.second = rest / 1000 % 60
    self.millisecond = rest % 1000
    // 1970-01-01 was a Thursday.
    self.weekday = Self.divide(days + 4, by: 7).remainder
    // Years start in March, which makes the leap day the last of its year; an era of 400 years has 146,097 days;
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let (era, dayOfEra) = Self.divide(days + 719_468, by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    self.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    self.year = Int64(yearOfEra) + era * 400 + (self.month <= 2 ? 1 : 0)
  }

  /// RFC 3339 (ISO 8601) form with milliseconds: "2026-11-21T07:41:03.123Z".
  package var rfc3339: String {
    Self.padded(self.year, 4) + "-" + Self.padded(self.month, 2) + "-" + Self.padded(self.day, 2) + "T" + self.clock
      + "."
      + Self.padded(self.millisecond, 3) + "Z"
  }

  /// IMF-fixdate of HTTP and RTSP headers, RFC 9110 §5.6.7, without milliseconds: "Sun, 06 Nov 1994 08:49:37 GMT".
  package var httpDate: String {
    let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return
      "\(weekdays[self.weekday]), \(Self.padded(self.day, 2)) \(months[self.month - 1]) \(Self.padded(self.year, 4)) "
      + "\(self.clock) GMT"
  }

  private var clock: String {
    Self.padded(self.hour, 2) + ":" + Self.padded(self.minute, 2) + ":" + Self.padded(self.second, 2)
  }

  /// Floor division: the remainder is never negative.
  private static func divide(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, Int(remainder + divisor)) : (quotient, Int(remainder))
  }

  private static func padded(_ value: some BinaryInteger, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
