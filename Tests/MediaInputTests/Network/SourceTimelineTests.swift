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
    #expect(Self.place(.unheld, [(900, 0), (940, 40), (980, 130), (1020, 131), (1060, 160)]) == [0, 40, 80, 120, 160])
  }

  @Test func `a burst at the start adds no latency`() {
    let burst = (0..<50).map { (source: Int64($0) * 40, arrival: Int64(0)) }
    let placed = Self.place(.unheld, burst + [(2_000, 40), (2_040, 80)])
    #expect(placed.suffix(2) == [40, 80])
    #expect(placed.dropLast(2).allSatisfy { $0 <= 5 })
  }

  @Test func `a clock that jumps back or forth begins a new mapping`() {
    #expect(Self.place(.unheld, [(5_000, 0), (5_040, 40), (100, 80), (140, 120)]) == [0, 40, 80, 120])
    #expect(Self.place(.unheld, [(5_000, 0), (5_040, 40), (900_000, 80), (900_040, 120)]) == [0, 40, 80, 120])
    #expect(Self.place(.buffered, [(5_000, 0), (5_040, 0), (100, 0), (140, 0)]) == [500, 540, 560, 600])
    #expect(Self.place(.buffered, [(0, 0), (40, 0), (90_000, 0), (90_040, 0)]) == [500, 540, 560, 600])
  }

  @Test func `samples that come late after a stall keep their times, short or long`() {
    #expect(
      Self.place(.unheld, [(0, 0), (40, 40), (80, 1_500), (120, 1_500), (1_540, 1_540)]) == [0, 40, 80, 120, 1_540])
    // Eight seconds at once, then in two seconds.
    let once = Self.samples(202) { $0 < 2 ? $0 * 40 : max(8_000, $0 * 40) }
    #expect(Self.place(.published, once) == once.map { $0.source })
    let slow = Self.samples(250) { $0 < 2 ? $0 * 40 : 8_000 + $0 * 8 }
    #expect(Self.place(.published, slow) == slow.map { $0.source })
  }

  @Test func `a source whose clock has stopped meanwhile goes on at the current time`() {
    let samples = Self.samples(100) { $0 * 40 + ($0 < 2 ? 0 : 5_000) }
    let placed = Self.place(.published, samples)
    #expect(Array(placed.suffix(70)) == samples.suffix(70).map { $0.arrival })
  }

  /// Samples at 25 a second, and their arrival by index.
  private static func samples(_ count: Int64, _ arrival: (Int64) -> Int64) -> [(source: Int64, arrival: Int64)] {
    (0..<count).map { (source: $0 * 40, arrival: arrival($0)) }
  }

  /// Samples that arrive at a multiple of their rate.
  private static func fast(_ count: Int64, _ rate: Int64) -> [(source: Int64, arrival: Int64)] {
    Self.samples(count) { $0 * 40 / rate }
  }

  @Test func `samples of a source that sends faster than in real time wait for their times`() {
    for rate in [2, 10, 1_000] as [Int64] {
      let placed = Self.place(.published, Self.fast(500, rate))
      // At most a second of them is early.
      #expect(zip(placed, placed.dropFirst()).suffix(440).allSatisfy { $1 - $0 == 40 })
      #expect(placed.last.map { (18_000...20_000).contains($0) } == true, "\(rate): \(placed)")
    }
    // No sender of datagrams can be held back.
    #expect(Self.place(.unheld, Self.fast(500, 10)).last == 1_996)
  }

  @Test func `a source that is held back jumps where its timestamps do`() {
    let first = Self.fast(250, 10)
    let second = first.map { (source: $0.source, arrival: $0.arrival + 1_000) }
    let placed = Self.place(.published, first + second)
    let before = placed[249]
    #expect(placed[250] == before + 20 && placed[251] == before + 60)
  }

  @Test func `a server that begins with four seconds at once, and goes on in real time, adds no latency`() {
    let samples = Self.samples(500) { max(0, $0 - 99) * 40 }
    let arrivals = samples.map { $0.arrival }
    #expect(Array(Self.place(.pulled, samples).suffix(400)) == Array(arrivals.suffix(400)))
    // Of a publisher, after ten seconds.
    #expect(Array(Self.place(.published, samples).suffix(100)) == Array(arrivals.suffix(100)))
  }

  @Test func `a camera whose timestamps run half as fast again is live`() {
    let samples = Self.samples(3_000) { $0 * 40 * 2 / 3 }
    let placed = Self.place(.camera, samples)
    #expect(zip(placed, samples).allSatisfy { abs($0 - $1.arrival) <= 40 })
    #expect(Self.place(.camera, Self.fast(2_000, 10)).last.map { $0 > 60_000 } == true)
  }

  @Test func `a clock that runs faster by half a percent is no burst`() {
    let samples = Self.samples(90_000) { $0 * 40 * 199 / 200 }
    let placed = Self.place(.published, samples)
    #expect(zip(placed, samples).allSatisfy { abs($0 - $1.arrival) <= 40 })
  }

  @Test(arguments: [SourceTimeline.Pace.unheld, .pulled, .published, .buffered])
  func `tracks of joined clips stay in sync, although they jump at different samples`(pace: SourceTimeline.Pace) {
    var timeline = SourceTimeline()
    timeline.restart(pace)
    var shifts: [MediaDuration] = []
    // Two clips of four seconds; the audio of each comes 200 ms behind its video.
    for index in 0..<200 as Range<Int64> {
      let arrival = Self.at(index * 40)
      let video = timeline.map(
        .video, decode: index % 100 * 40_000_000, presentation: index % 100 * 40_000_000, arrival: arrival)
      guard index >= 5 else { continue }
      let time = (index - 5) % 100 * 40_000_000
      let audio = timeline.map(.audio, decode: time, presentation: time, arrival: arrival)
      // Video and audio of one timestamp are 200 ms apart here.
      shifts.append(video.decode - audio.decode)
    }
    #expect(shifts.allSatisfy { abs($0.nanoseconds - 200_000_000) <= 25_000_000 }, "\(shifts.map(\.seconds))")
  }

  /// Jumps of the timestamps of video and audio, in milliseconds, at four seconds.
  struct Jumps: Sendable {
    var video: Int64
    var audio: Int64
  }

  @Test(
    arguments: [SourceTimeline.Pace.unheld, .pulled, .published, .buffered],
    [
      Jumps(video: 90_000, audio: 90_000), Jumps(video: -3_500, audio: -3_500),
      Jumps(video: 7_200_000, audio: 7_200_000),
      Jumps(video: 20_000, audio: 0), Jumps(video: -3_000, audio: 0), Jumps(video: 0, audio: -3_000),
      Jumps(video: 0, audio: 20_000),
    ])
  func `tracks that jump together or alone continue, without a gap and in sync`(
    pace: SourceTimeline.Pace, jumps: Jumps
  ) {
    var timeline = SourceTimeline()
    timeline.restart(pace)
    var worst: Int64 = 0
    for time in stride(from: 0, to: 40_000, by: 20) as StrideTo<Int64> {
      // Video has a frame in 40 ms; the audio jumps a while after it, as where clips were joined.
      for (kind, jump) in [
        (MediaKind.video, time < 4_000 ? 0 : jumps.video), (.audio, time < 4_100 ? 0 : jumps.audio),
      ] where kind == .audio || time % 40 == 0 {
        let source = (4_000 + time + jump) * 1_000_000
        let mapped = timeline.map(kind, decode: source, presentation: source, arrival: Self.at(time)).decode
        let delay = (mapped - Self.at(time)).nanoseconds / 1_000_000 - (pace == .buffered ? 500 : 0)
        worst = max(worst, abs(delay))
      }
    }
    #expect(worst <= 140, "\(worst) ms")
  }

  @Test func `a connection after one that was ahead continues behind what waits`() {
    for pace in [SourceTimeline.Pace.published, .buffered] {
      var timeline = SourceTimeline()
      timeline.restart(pace)
      for index in 0..<(pace == .buffered ? 50 : 150) {
        let source = Int64(index) * 40_000_000
        _ = timeline.map(.video, decode: source, presentation: source, arrival: Self.at(Int64(index)))
      }
      timeline.restart(pace)
      let placed = (0..<50).map { index in
        let source = Int64(index) * 40_000_000
        return timeline.map(.video, decode: source, presentation: source, arrival: Self.at(200 + Int64(index))).decode
      }
      #expect(zip(placed, placed.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(40) })
    }
  }

  @Test func `a live source whose first burst was long skips the time by which it is early, and what waits is shown`() {
    var timeline = SourceTimeline()
    timeline.restart(.published)
    var shown: [(kind: MediaKind, time: MediaTime)] = []
    for index in 0..<600 {
      // Three seconds at once, then real time; a keyframe each second.
      let source = Int64(index) * 40
      let arrival = Self.at(max(0, source - 3_000))
      for kind in [MediaKind.video, .audio] {
        let times = timeline.map(kind, decode: source * 1_000_000, presentation: source * 1_000_000, arrival: arrival)
        guard !timeline.skips(kind, at: times, isKeyframe: index % 25 == 0) else { continue }
        shown.append((kind, times.decode))
      }
    }
    for kind in [MediaKind.video, .audio] {
      let times = shown.filter { $0.kind == kind }.map(\.time)
      // Beside the first second, which is shown as it comes.
      let steps = zip(times, times.dropFirst()).dropFirst(30).map { ($1 - $0).nanoseconds / 1_000_000 }
      #expect(steps.allSatisfy { $0 >= 5 && $0 <= 1_100 }, "\(kind): \(steps)")
      #expect(times.last == Self.at(599 * 40 - 3_000), "\(kind)")
    }
  }

  @Test func `a frame in ten seconds is no jump, of a track alone or beside audio`() {
    #expect(Self.place(.buffered, [(0, 0), (10_000, 0), (20_000, 8_000)]) == [500, 10_500, 20_500])
    var timeline = SourceTimeline()
    timeline.restart(.buffered)
    for index in 0..<1_500 as Range<Int64> {
      let time = index * 20_000_000
      let audio = timeline.map(.audio, decode: time, presentation: time, arrival: Self.start)
      #expect(audio.decode == Self.at(500 + index * 20))
      guard index % 1_000 == 0 else { continue }
      let video = timeline.map(.video, decode: time, presentation: time, arrival: Self.start)
      #expect(video.decode == Self.at(500 + index * 20))
    }
  }

  @Test func `times on the stream's clock stay as they are, and only increase`() {
    var timeline = SourceTimeline()
    timeline.restart(.unheld)
    let times = [0, 40, 40, 20, 80].map { timeline.accept(.video, at: Self.at($0)) }
    let step = SourceTimeline.minimumStep
    let expected = [
      Self.at(0), Self.at(40), Self.at(40) + step, Self.at(40) + step + step, Self.at(80),
    ]
    #expect(times.map(\.decode) == expected && times.map(\.presentation) == expected)
    // Each track has an order of its own, which a new connection keeps.
    #expect(timeline.accept(.audio, at: Self.at(10)).decode == Self.at(10))
    timeline.restart(.unheld)
    #expect(timeline.accept(.video, at: Self.at(60)).decode == Self.at(80) + step)
  }

  @Test func `a playout buffer that ran empty is filled again`() {
    #expect(Self.place(.buffered, [(0, 0), (40, 10), (80, 2_000), (120, 2_001)]) == [500, 540, 2_500, 2_540])
  }

  @Test func `a slow clock is followed, within its limits`() {
    var timeline = SourceTimeline()
    timeline.restart(.unheld)
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
    timeline.restart(.unheld)
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
    for pace in [SourceTimeline.Pace.unheld, .published, .buffered] {
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
