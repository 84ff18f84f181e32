/// The date of HTTP headers, RFC 9110 §5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// The date at a number of seconds since 1970.
  static func text(unixSeconds: Int64) -> String {
    let (day, second) = unixSeconds.dividedDown(by: 86_400)
    let date = Self.date(day: day)
    let weekday = Self.days[Int(day.dividedDown(by: 7).remainder)]
    return "\(weekday), \(Self.two(date.day)) \(Self.months[date.month - 1]) \(date.year) "
      + "\(Self.two(Int(second / 3600))):\(Self.two(Int(second / 60 % 60))):\(Self.two(Int(second % 60))) GMT"
  }

  /// The moment in the form of RFC 3339, with milliseconds: `2026-11-21T07:41:03.123Z`.
  static func precise(unixNanoseconds: Int64) -> String {
    let (day, rest) = unixNanoseconds.dividedDown(by: 86_400_000_000_000)
    let date = Self.date(day: day)
    let milliseconds = Int(rest / 1_000_000)
    let second = milliseconds / 1000
    let fraction = String(1000 + milliseconds % 1000).dropFirst()
    return "\(date.year)-\(Self.two(date.month))-\(Self.two(date.day))T"
      + "\(Self.two(second / 3600)):\(Self.two(second / 60 % 60)):\(Self.two(second % 60)).\(fraction)Z"
  }

  /// The date of a day, counted from 1970-01-01: years of 365.2425 days that begin in March, so that the leap day is the
  /// last one.
  private static func date(day: Int64) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = (day + 719_468).dividedDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    return (
      Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0), month, Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    )
  }

  private static func two(_ number: Int) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}

extension Int64 {
  /// Quotient rounded down, and what is left, which is not negative.
  fileprivate func dividedDown(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
