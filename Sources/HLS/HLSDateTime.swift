internal import Media

/// Dates as `EXT-X-PROGRAM-DATE-TIME` has them, ISO 8601: "2026-11-21T07:41:03.123Z".
enum HLSDateTime {
  /// A span since the start of 1970 (UTC) as a date, rounded to a millisecond.
  static func text(_ unixTime: MediaDuration) -> String {
    let milliseconds = Self.floor(min(unixTime.nanoseconds, .max - 500_000) + 500_000, 1_000_000)
    let seconds = Self.floor(milliseconds, 1000)
    let days = Self.floor(seconds, 86_400)
    let (year, month, day) = Self.date(days: days)
    let second = seconds - days * 86_400
    return Self.padded(year, 4) + "-" + Self.padded(month, 2) + "-" + Self.padded(day, 2) + "T"
      + Self.padded(second / 3600, 2) + ":" + Self.padded(second / 60 % 60, 2) + ":" + Self.padded(second % 60, 2) + "."
      + Self.padded(milliseconds - seconds * 1000, 3) + "Z"
  }

  /// The Gregorian date of a day since 1970-01-01. Years are counted from March on, so that the leap day is the last
  /// of its year, in eras of 400 years, which are 146 097 days.
  private static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468  // From 0000-03-01 to 1970-01-01.
    let era = Self.floor(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }

  private static func padded(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
