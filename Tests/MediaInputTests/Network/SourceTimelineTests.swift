import Media
import TestSupport
import Testing

@testable import MediaInput
@testable import Threading

@Suite("Source timeline")
struct SourceTimelineTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)

  private static func at(_ milliseconds: Int64) -> MediaTime {
    Self.start + .milliseconds(milliseconds)
  }

  /// Times, in milliseconds after the start, given to samples with these timestamps and arrival times.
  private static func place(
    _ pace: SourceTimeline.Pace, _ samples: [(source: Int64, arrival: Int64)]
  ) -> [Int64] {
    var timeline = SourceTimeline()
    timeline.restart(pace)
    return samples.map { sample in
      let time = timeline.map(
        .video, decode: sample.source * 1_000_000, presentation: sample.source * 1_000_000,
        arrival: Self.at(sample.arrival))
      return (time.decode - Self.start).nanoseconds / 1_000_000
    }
  }

  @Test func `a live sample with a longer network delay keeps its interval`() {
    #expect(Self.place(.live, [(900, 0), (940, 40), (980, 130), (1020, 131), (1060, 160)]) == [0, 40, 80, 120, 160])
  }

  @Test func `a burst at the start adds no latency`() {
    let burst = (0..<50).map { (source: Int64($0) * 40, arrival: Int64(0)) }
    let placed = Self.place(.live, burst + [(2_000, 40), (2_040, 80)])
    #expect(placed.suffix(2) == [40, 80])
    #expect(placed.dropLast(2).allSatisfy { $0 <= 5 })
  }

  @Test func `a clock that jumps back or forth begins a new mapping`() {
    #expect(Self.place(.live, [(5_000, 0), (5_040, 40), (100, 80), (140, 120)]) == [0, 40, 80, 120])
    #expect(Self.place(.live, [(5_000, 0), (5_040, 40), (900_000, 80), (900_040, 120)]) == [0, 40, 80, 120])
    #expect(Self.place(.buffered, [(5_000, 0), (5_040, 0), (100, 0), (140, 0)]) == [500, 540, 560, 600])
    #expect(Self.place(.buffered, [(0, 0), (40, 0), (90_000, 0), (90_040, 0)]) == [500, 540, 560, 600])
  }

  @Test func `a live source resumes at the current time after a long stall, and at its old offset after a short one`() {
    #expect(Self.place(.live, [(0, 0), (40, 40), (80, 5_000), (120, 5_040)]) == [0, 40, 5_000, 5_040])
    #expect(
      Self.place(.live, [(0, 0), (40, 40), (80, 1_500), (120, 1_500), (1_540, 1_540)]) == [0, 40, 80, 120, 1_540])
  }

  @Test func `times on the stream's clock stay as they are, and only increase`() {
    var timeline = SourceTimeline()
    timeline.restart(.live)
    let times = [0, 40, 40, 20, 80].map { timeline.accept(.video, at: Self.at($0)) }
    let step = SourceTimeline.minimumStep
    let expected = [
      Self.at(0), Self.at(40), Self.at(40) + step, Self.at(40) + step + step, Self.at(80),
    ]
    #expect(times.map(\.decode) == expected && times.map(\.presentation) == expected)
    // Each track has an order of its own, which a new connection keeps.
    #expect(timeline.accept(.audio, at: Self.at(10)).decode == Self.at(10))
    timeline.restart(.live)
    #expect(timeline.accept(.video, at: Self.at(60)).decode == Self.at(80) + step)
  }

  @Test func `a playout buffer that ran empty is filled again`() {
    #expect(Self.place(.buffered, [(0, 0), (40, 10), (80, 2_000), (120, 2_001)]) == [500, 540, 2_500, 2_540])
  }

  @Test func `a slow clock is followed, within its limits`() {
    var timeline = SourceTimeline()
    timeline.restart(.live)
    var worst = MediaDuration.zero
    // 200 ppm slow, for one hour at 25 frames per second: 0.72 s in total.
    for index in 0..<Int64(90_000) {
      let arrival = Self.start + .milliseconds(index * 40)
      let source = index * 40_000_000 * 4_999 / 5_000
      let time = timeline.map(.video, decode: source, presentation: source, arrival: arrival)
      worst = max(worst, arrival - time.decode)
      #expect(time.decode <= arrival)
    }
    #expect(worst < .milliseconds(10))
  }

  @Test func `audio and video keep their offset`() {
    var timeline = SourceTimeline()
    timeline.restart(.live)
    _ = timeline.map(.video, decode: 0, presentation: 0, arrival: Self.at(0))
    let audio = timeline.map(.audio, decode: -70_000_000, presentation: -70_000_000, arrival: Self.at(5))
    #expect(audio.decode == Self.at(-70))
    let video = timeline.map(.video, decode: 40_000_000, presentation: 120_000_000, arrival: Self.at(40))
    #expect(video == SourceTimeline.Times(decode: Self.at(40), presentation: Self.at(120)))
  }

  @Test func `timestamps always increase, across connections too`() {
    let limit: Int64 = 1 << 60
    let seed: UInt64 = 1
    var generator = SplitMix(seed: seed)
    for pace in [SourceTimeline.Pace.live, .buffered] {
      var timeline = SourceTimeline()
      timeline.restart(pace)
      var arrival = Self.start
      var last: [MediaKind: MediaTime] = [:]
      for step in 0..<20_000 {
        if step % 1_000 == 999 { timeline.restart(pace) }
        arrival += MediaDuration(nanoseconds: .random(in: 0...50_000_000, using: &generator))
        let kind = Bool.random(using: &generator) ? MediaKind.video : .audio
        func time() -> Int64? {
          switch Int.random(in: 0..<6, using: &generator) {
          case 0: nil
          case 1: Bool.random(using: &generator) ? limit : -limit
          case 2: .random(in: -limit...limit, using: &generator)
          default: Int64(step) * 20_000_000
          }
        }
        let times = timeline.map(kind, decode: time(), presentation: time(), arrival: arrival)
        if let before = last[kind] { #expect(times.decode > before, "seed \(seed), step \(step)") }
        #expect(
          times.presentation >= times.decode && times.presentation - times.decode <= .seconds(2),
          "seed \(seed), step \(step)")
        #expect(times.decode - arrival < .seconds(30), "seed \(seed), step \(step)")
        last[kind] = times.decode
      }
    }
  }
}
