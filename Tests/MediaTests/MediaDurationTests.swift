import Media
import Testing

@Suite("Durations")
struct MediaDurationTests {
  @Test func `units are nanoseconds times a thousand`() {
    #expect(MediaDuration.microseconds(3) == MediaDuration(nanoseconds: 3_000))
    #expect(MediaDuration.milliseconds(3) == .microseconds(3_000))
    #expect(MediaDuration.seconds(3) == .milliseconds(3_000))
    #expect(MediaDuration.milliseconds(1_500).seconds == 1.5)
  }

  @Test(arguments: [
    (Int64(1), Int32(30), Int64(33_333_333)), (-1, 30, -33_333_334), (90_000, 90_000, 1_000_000_000),
    (1024, 44_100, 23_219_954), (0, 1, 0),
  ])
  func `ticks become nanoseconds rounded down, below zero too`(ticks: Int64, timescale: Int32, nanoseconds: Int64) {
    #expect(MediaDuration.ticks(ticks, timescale: timescale).nanoseconds == nanoseconds)
  }

  @Test(arguments: [
    (Int64(33_333_333), Int32(90_000), Int64(2_999)), (33_333_334, 90_000, 3_000), (-1, 90_000, -1),
    (1_000_000_000, 44_100, 44_100),
  ])
  func `nanoseconds become whole ticks rounded down`(nanoseconds: Int64, timescale: Int32, ticks: Int64) {
    #expect(MediaDuration(nanoseconds: nanoseconds).ticks(timescale: timescale) == ticks)
  }

  @Test(arguments: [
    (Int64(1), Int64(5), Int64(1_000_000_005)), (-1, 999_999_999, -1), (9_223_372_036, 854_775_807, .max),
    (9_223_372_036, 854_775_808, .max), (10_413_792_000, 0, .max), (-11_676_096_000, 0, .min), (.max, 0, .max),
    (.min, 0, .min),
  ])
  func `seconds and nanoseconds beyond 292 years are clamped`(seconds: Int64, nanoseconds: Int64, sum: Int64) {
    #expect(MediaDuration(clampingSeconds: seconds, nanoseconds: nanoseconds).nanoseconds == sum)
  }

  @Test func `ticks beyond 292 years are clamped`() {
    #expect(MediaDuration.ticks(.max, timescale: 1).nanoseconds == .max)
    #expect(MediaDuration.ticks(.min, timescale: 1).nanoseconds == .min)
    #expect(MediaDuration(nanoseconds: .max).ticks(timescale: .max) == .max)
  }

  @Test func `durations are added, scaled and compared`() {
    let third = MediaDuration.seconds(1) / 3
    #expect(third.nanoseconds == 333_333_333)
    #expect(third * 3 < .seconds(1))
    #expect(third + third - third == third)
    #expect(MediaDuration.zero - third < .zero)
    #expect([MediaDuration.seconds(2), .zero, third].sorted() == [.zero, third, .seconds(2)])
  }
}
