import Testing

@testable import Media

@Suite("Calendar time")
struct CalendarTimeTests {
  @Test(
    arguments: [
      (784_111_777_000, "1994-11-06T08:49:37.000Z", "Sun, 06 Nov 1994 08:49:37 GMT"),  // RFC 9110 §5.6.7
      (0, "1970-01-01T00:00:00.000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "1969-12-31T23:59:59.999Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
      (1_709_251_199_999, "2024-02-29T23:59:59.999Z", "Thu, 29 Feb 2024 23:59:59 GMT"),
      (4_107_542_399_999, "2100-02-28T23:59:59.999Z", "Sun, 28 Feb 2100 23:59:59 GMT"),
      (4_107_542_400_001, "2100-03-01T00:00:00.001Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
    ] as [(Int64, String, String)])
  func `a time is formatted as a date`(milliseconds: Int64, precise: String, header: String) {

    let time = CalendarTime(unixTime: .milliseconds(milliseconds))
    #expect(time.rfc3339 == precise)
    #expect(time.httpDate == header)
  }

  @Test func `a time is rounded to a millisecond`() {
    let second: Int64 = 1_795_246_863_000_000_000
    #expect(CalendarTime(unixTime: .init(nanoseconds: second + 7_499_999)).rfc3339 == "2026-11-21T07:41:03.007Z")
    #expect(CalendarTime(unixTime: .init(nanoseconds: second + 999_500_000)).rfc3339 == "2026-11-21T07:41:04.000Z")
  }

  @Test(arguments: [Int64.min, .max]) func `the ends of the clock do not trap`(nanoseconds: Int64) {
    let time = CalendarTime(unixTime: MediaDuration(nanoseconds: nanoseconds))
    #expect(time.year == (nanoseconds < 0 ? 1677 : 2262))
  }
}
