import Testing

@testable import Media

@Suite("Calendar days")
struct CalendarDaysTests {
  private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func days(ofMonth month: Int, in year: Int64) -> Int {
    month == 2 ? (Self.isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// 146,097 days are an era of the calendar; those that fit 292 years on either side of 1970 are counted one by one.
  @Test func `each day follows the one before it, from 1678 to 2261`() {
    var (year, month, day, weekday) = (Int64(1970), 1, 1, 4)
    var wrong: [Int64] = []
    for number in Int64(0)..<106_000 {
      let time = CalendarTime(unixTime: .seconds(number * 86_400))
      if (time.year, time.month, time.day, time.weekday) != (year, month, day, weekday) { wrong.append(number) }
      weekday = (weekday + 1) % 7
      day += 1
      if day > Self.days(ofMonth: month, in: year) { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    (year, month, day, weekday) = (1970, 1, 1, 4)
    for number in Int64(1)..<106_000 {
      weekday = (weekday + 6) % 7
      day -= 1
      if day < 1 { month -= 1 }
      if month < 1 { (year, month) = (year - 1, 12) }
      if day < 1 { day = Self.days(ofMonth: month, in: year) }
      let time = CalendarTime(unixTime: .seconds(-number * 86_400))
      if (time.year, time.month, time.day, time.weekday) != (year, month, day, weekday) { wrong.append(-number) }
    }
    #expect(wrong.prefix(5) == [])
  }

  @Test func `the clock of a day counts hours, minutes, seconds and milliseconds`() {
    for second in stride(from: Int64(0), to: 86_400, by: 61) {
      for day in [Int64(-1), 0, 20_000] {
        let time = CalendarTime(unixTime: .seconds(day * 86_400 + second) + .milliseconds(7))
        #expect(Int64(time.hour * 3600 + time.minute * 60 + time.second) == second)
        #expect(time.millisecond == 7 && time.minute < 60 && time.second < 60)
      }
    }
  }

  @Test func `fields of one and two digits are padded`() {
    let time = CalendarTime(unixTime: .seconds(951_000_000 + 3_600 * 9) + .milliseconds(5))
    #expect(time.rfc3339 == "2000-02-20T07:40:00.005Z")
    #expect(time.httpDate == "Sun, 20 Feb 2000 07:40:00 GMT")
  }
}

@Suite("Scaled times")
struct ScaledTimeTests {
  /// Timescales of video, audio and broadcast rates.
  private static let timescales: [Int32] = [1, 30, 1000, 1001, 7_350, 44_100, 48_000, 90_000, 192_000, .max]

  @Test func `ticks and nanoseconds are the same as by exact division, on both sides of zero`() {
    for timescale in Self.timescales {
      for value in [-90_001, -90_000, -89_999, -1, 0, 1, 1_000, 89_999, 1_234_567_891] as [Int64] {
        let nanoseconds = (Double(value) * 1e9 / Double(timescale)).rounded(.down)
        let scaled = MediaTime(ticks: value, timescale: timescale).nanoseconds
        #expect(abs(Double(scaled) - nanoseconds) <= max(1, abs(nanoseconds) * 1e-15), "\(value) of \(timescale)")
        #expect(MediaDuration.ticks(value, timescale: timescale).nanoseconds == scaled)
      }
    }
  }

  /// Rounding down to a nanosecond loses a tick at most; a tick of 2³¹ - 1 a second is shorter than that.
  @Test func `a number of ticks comes back, or is one less`() {
    for timescale in Self.timescales where timescale < 1_000_000_000 {
      for ticks in Int64(-300)...300 {
        let back = MediaTime(ticks: ticks, timescale: timescale).ticks(timescale: timescale)
        #expect(back == ticks || back == ticks - 1, "\(ticks) of \(timescale)")
      }
    }
  }

  @Test func `a time moved by whole seconds moves its ticks by whole timescales`() {
    for timescale in Self.timescales {
      let time = MediaTime(nanoseconds: 123_456_789)
      for seconds in Int64(-5)...5 {
        let moved = time + .seconds(seconds)
        #expect(moved.ticks(timescale: timescale) == time.ticks(timescale: timescale) + seconds * Int64(timescale))
      }
    }
  }

  @Test func `differences at the ends of the clock are clamped to the sign that they have`() {
    let (first, last) = (MediaTime(nanoseconds: .min), MediaTime(nanoseconds: .max))
    #expect(last - first == MediaDuration(nanoseconds: .max))
    #expect(first - last == MediaDuration(nanoseconds: .min))
    var time = last
    time += .seconds(1)
    #expect(time == last)
    #expect(first - .seconds(-1) == first + .seconds(1))
    #expect(last - MediaDuration.seconds(-1) == last)
    #expect(first + MediaDuration.seconds(-1) == first)
  }
}

@Suite("Comparison of frame rates")
struct FrameRateOrderTests {
  @Test func `fractions of equal value are equal, and have equal hashes`() {
    for factor in [1, 2, 3, 1001] as [Int32] {
      let (rate, same) = (FrameRate(30), FrameRate(30 * factor, over: factor))
      #expect(rate == same && rate.hashValue == same.hashValue)
      #expect(!(rate < same) && !(same < rate))
    }
    #expect(Set([FrameRate(30), FrameRate(60, over: 2), FrameRate(90, over: 3)]).count == 1)
  }

  @Test func `the order is exact where floating point is not`() {
    let (lower, higher) = (FrameRate(.max - 1, over: .max), FrameRate(.max, over: .max))
    #expect(lower < higher && !(higher < lower) && lower != higher)
    #expect(
      [FrameRate(60), FrameRate(30_000, over: 1001), 30, 1].sorted() == [1, FrameRate(30_000, over: 1001), 30, 60])
  }

  @Test(
    arguments: [
      (FrameRate(1), "1"), (FrameRate(1, over: 2), "0.5"), (FrameRate(1, over: 3), "0.33"),
      (FrameRate(2, over: 3), "0.67"), (FrameRate(24_000, over: 1001), "23.98"), (FrameRate(1001, over: 100), "10.01"),
      (FrameRate(2999, over: 1000), "3"), (FrameRate(.max), "2147483647"), (FrameRate(1, over: .max), "0"),
    ] as [(FrameRate, String)])
  func `a rate is written with at most two decimals`(rate: FrameRate, text: String) {
    #expect(rate.description == text)
  }

  @Test func `frames of an even sequence are at most a nanosecond from their exact time`() {
    let rate = FrameRate(30_000, over: 1001)
    for index in stride(from: Int64(0), through: 3_000_000, by: 29_989) {
      let exact = Double(index) * 1001 / 30_000
      let time = rate.time(ofFrame: index, from: .zero + .seconds(5))
      #expect(abs((time - MediaTime.zero - .seconds(5)).seconds - exact) < 1e-9 + exact * 1e-15, "frame \(index)")
    }
  }
}
