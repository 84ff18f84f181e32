import Testing

@testable import Threading

@Suite("Offset of the wall clock")
struct WallClockOffsetTests {
  private static let hour: Int64 = 3_600_000_000_000

  @Test(arguments: [20_000_000, hour, -hour, -20_000_000, 1_000_000_000, 40 * 365 * 24 * hour] as [Int64])
  func `a step is adopted and counted`(step: Int64) {
    var offset = WallClockOffset(unixTimeAtZero: 1_700_000_000_000_000_000)
    offset.update(unixTimeAtZero: 1_700_000_000_000_000_000 + step)
    #expect(offset.unixTimeAtZero == 1_700_000_000_000_000_000 + step && offset.stepCount == 1)
    offset.update(unixTimeAtZero: 1_700_000_000_000_000_000 + step)
    #expect(offset.stepCount == 1)
    offset.update(unixTimeAtZero: 1_700_000_000_000_000_000)
    #expect(offset.unixTimeAtZero == 1_700_000_000_000_000_000 && offset.stepCount == 2)
  }

  @Test func `a delay between the readings is no step, and small steps add up to one`() {
    var offset = WallClockOffset(unixTimeAtZero: 0)
    for noise: Int64 in [19_999_999, -19_999_999, 1, 0] {
      offset.update(unixTimeAtZero: noise)
      #expect(offset == WallClockOffset(unixTimeAtZero: 0))
    }
    for step: Int64 in 1...10 { offset.update(unixTimeAtZero: step * 5_000_000) }
    #expect(offset.unixTimeAtZero == 40_000_000 && offset.stepCount == 2)
  }

  @Test func `the reading that took the minimum time counts`() {
    let readings: [(before: Int64, wall: Int64, after: Int64)] = [
      (100, 1_090, 200), (300, 1_305, 310), (400, 1_430, 500),
    ]
    #expect(WallClockOffset.best(of: readings) == 1_000)
  }
}
