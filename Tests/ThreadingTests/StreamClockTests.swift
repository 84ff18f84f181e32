import Media
import Testing
import Threading

@Suite("Stream clock")
struct StreamClockTests {
  @Test func `time never goes back`() {
    let times = (0..<1_000).map { _ in StreamClock.system.now() }
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test(arguments: [0, 1, 1_700_000_000_123_456_789, -5] as [Int64])
  func `wall-clock time is converted there and back without loss`(nanoseconds: Int64) {
    let clock = StreamClock.system
    #expect(clock.unixTime(at: clock.mediaTime(atUnixTime: nanoseconds)) == nanoseconds)
    #expect(
      clock.mediaTime(atUnixTime: clock.unixTime(at: MediaTime(nanoseconds: nanoseconds))).nanoseconds == nanoseconds)
  }

  @Test func `wall-clock time is after the year 2020 and advances with the clock`() {
    let clock = StreamClock.system
    let now = clock.now()
    #expect(clock.unixTime(at: now) > 1_577_836_800_000_000_000)
    #expect(clock.unixTime(at: now + .seconds(2)) - clock.unixTime(at: now) == 2_000_000_000)
  }
}
