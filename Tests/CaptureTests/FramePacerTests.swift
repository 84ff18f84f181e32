import Capture
import Media
import Testing
import Threading

@Suite("Frame grid")
struct FrameGridTests {
  @Test(arguments: [24, 25, 30, 50, 60, 7] as [Int32])
  func `at an integral rate a frame falls on each whole second of wall-clock time`(rate: Int32) {
    let clock = StreamClock.system
    let grid = FrameGrid(rate: FrameRate(rate), at: clock.now())
    for second in 0..<5 as Range<Int64> {
      #expect(clock.unixTime(at: grid.time(of: second * Int64(rate))) % 1_000_000_000 == 0)
    }
  }

  @Test func `the anchor is the last whole second, or the time itself`() {
    let clock = StreamClock.system
    let second = clock.mediaTime(atUnixTime: 1_700_000_000_000_000_000)
    #expect(FrameGrid(rate: FrameRate(30), at: second).anchor == second)
    #expect(FrameGrid(rate: FrameRate(30), at: second + .milliseconds(999)).anchor == second)
    #expect(FrameGrid(rate: FrameRate(30), at: second - MediaDuration(nanoseconds: 1)).anchor == second - .seconds(1))
  }

  @Test(arguments: [FrameRate(30), FrameRate(30_000, over: 1001), FrameRate(1, over: 3), FrameRate(240)])
  func `index and time are inverse to each other despite rounding`(rate: FrameRate) {
    let grid = FrameGrid(anchor: MediaTime(nanoseconds: 12_345), rate: rate)
    for index in [0, 1, 2, 29, 30, 31, 1_000_001, 1_000_000_007] as [Int64] {
      #expect(grid.index(at: grid.time(of: index)) == index)
      #expect(grid.index(at: grid.time(of: index + 1) - MediaDuration(nanoseconds: 1)) == index)
    }
  }

  @Test(arguments: [(5, 6), (39, 6), (40, 6), (79, 7), (80, 8), (1_000, 100)])
  func `missed frames are skipped except the latest`(milliseconds: Int64, expected: Int64) {
    // 100 frames per second; frame 5 was produced at 50 ms.
    let grid = FrameGrid(anchor: .zero, rate: FrameRate(100))
    #expect(grid.index(after: 5, at: .zero + .milliseconds(milliseconds)) == expected)
  }

  /// The indices planned at 100 frames per second from time 0.
  ///
  /// - Parameter steps: For each frame, the times in milliseconds at which the thread requests it and is woken for it.
  private func indices(_ steps: [(asked: Int64, woken: Int64)], maximumBurst: Int64 = 3) -> [Int64] {
    var plan = FramePlan(
      grid: FrameGrid(anchor: .zero, rate: FrameRate(100)), maximumBurst: maximumBurst, at: .zero)
    return steps.map { asked, woken in
      defer { plan.wakeUp(at: .zero + .milliseconds(woken)) }
      return plan.next(at: .zero + .milliseconds(asked))
    }
  }

  @Test func `a thread that is woken late produces the missed frames`() {
    #expect(self.indices([(1, 10), (12, 50), (50, 50), (50, 50), (51, 51), (52, 60)]) == [1, 2, 3, 4, 5, 6])
    // Woken late again in the middle of a burst.
    #expect(self.indices([(1, 10), (12, 40), (40, 55), (55, 55), (56, 56), (57, 60)]) == [1, 2, 3, 4, 5, 6])
  }

  @Test func `a thread that slept longer than the burst skips the missed frames`() {
    #expect(self.indices([(1, 10), (12, 60), (60, 60), (61, 70)]) == [1, 2, 6, 7])
    #expect(self.indices([(1, 10), (12, 50), (50, 50)], maximumBurst: 0) == [1, 2, 5])
  }

  @Test func `a thread whose work exceeds the interval skips the missed frames`() {
    #expect(self.indices([(1, 10), (35, 35), (62, 62), (63, 70)]) == [1, 3, 6, 7])
  }

  @Test func `the pacer returns increasing grid times, none before it is due, until the signal`() {
    let signal = StopSignal()
    var pacer = FramePacer(rate: FrameRate(500), signal: signal)
    var last: (index: Int64, time: MediaTime)?
    for _ in 0..<10 {
      guard let next = pacer.next() else {
        Issue.record("ended without the signal")
        return
      }
      #expect(next.time <= StreamClock.system.now())
      #expect(next.time == pacer.grid.time(of: next.index))
      if let last { #expect(next.index > last.index) }
      last = next
    }
    signal.stop()
    #expect(pacer.next() == nil)
  }
}
