import Media
import Testing

@Suite("Media time")
struct MediaTimeTests {
  @Test func `90 kHz ticks of a second are exact in both directions`() {
    #expect(MediaTime(nanoseconds: 1_000_000_000).ticks(timescale: 90_000) == 90_000)
    #expect(MediaTime(ticks: 90_000, timescale: 90_000) == MediaTime(nanoseconds: 1_000_000_000))
  }

  @Test func `ticks round down below zero too, so that intervals stay constant`() {
    #expect(MediaTime(nanoseconds: -1).ticks(timescale: 90_000) == -1)
    #expect(MediaTime(nanoseconds: 1).ticks(timescale: 90_000) == 0)
  }

  @Test func `ticks survive a time of 290 years`() {
    let time = MediaTime(nanoseconds: .max)
    #expect(time.ticks(timescale: 90_000) == 830_103_483_316_929)
    #expect(MediaTime(ticks: .max, timescale: 1).nanoseconds == .max)
  }

  @Test func `addition saturates at the ends of the range`() {
    #expect(MediaTime(nanoseconds: .max) + .seconds(1) == MediaTime(nanoseconds: .max))
    #expect(MediaTime(nanoseconds: .min) - .seconds(1) == MediaTime(nanoseconds: .min))
    #expect(MediaTime(nanoseconds: .min) - MediaTime(nanoseconds: 1) == MediaDuration(nanoseconds: .min))
  }

  @Test func `frame times of 29.97 do not drift`() {
    let rate = FrameRate(30_000, over: 1001)
    #expect(rate.time(ofFrame: 30_000, from: .zero) == MediaTime(nanoseconds: 1_001_000_000_000))
    #expect(rate.description == "29.97")
    #expect(FrameRate(25).description == "25")
    #expect(FrameRate(25, over: 2).description == "12.5")
  }

  @Test(arguments: [
    (30, 30), (29, 25), (60, 60), (1000, 60), (15, 15),
  ])
  func `the best rate is the highest not above the requested one`(wanted: Int32, best: Int32) {

    let supported: [FrameRate] = [FrameRate(60), FrameRate(15), FrameRate(30), FrameRate(25)]
    #expect(FrameRate.best(of: supported, notAbove: FrameRate(wanted)) == FrameRate(best))
  }

  @Test func `no rate is chosen when all are above the requested one`() {
    #expect(FrameRate.best(of: [FrameRate(30)], notAbove: FrameRate(10)) == nil)
  }

  @Test func `29.97 is below 30 and 30 over 1 equals 60 over 2`() {
    #expect(FrameRate(30_000, over: 1001) < FrameRate(30))
    #expect(FrameRate(60, over: 2) == FrameRate(30))
    #expect(Set([FrameRate(60, over: 2), FrameRate(30)]).count == 1)
  }
}
