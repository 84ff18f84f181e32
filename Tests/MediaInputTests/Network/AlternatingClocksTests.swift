import Media
import Testing

@testable import MediaInput

@Suite("Clocks that alternate")
struct AlternatingClocksTests {
  private static func at(_ milliseconds: Int64) -> MediaTime {
    MediaTime(nanoseconds: 1_000_000_000_000) + .milliseconds(milliseconds)
  }

  /// Steps of a track's timestamps, in milliseconds.
  private static func steps(_ times: [Int64]) -> [AlternatingClocks.Step] {
    var clocks = AlternatingClocks()
    return times.map { clocks.append(.video, at: Self.at($0)) }
  }

  @Test func `two clocks alternate from the second step back to one of them on, until one is left`() {
    let times: [Int64] = [4_500, 0, 4_540, 40, 80, 4_580, 100, 140]
    #expect(
      Self.steps(times) == [
        .single, .single, .single, .alternating(nil), .alternating(.milliseconds(40)), .alternating(nil),
        .alternating(nil), .alternating(.milliseconds(40)),
      ])
    // Two seconds after 100 ms one is left.
    let rest = Self.steps(times + (1...60).map { 140 + $0 * 40 }).dropFirst(times.count)
    #expect(rest.prefix(49).allSatisfy { $0 == .alternating(.milliseconds(40)) })
    #expect(rest.dropFirst(49).first == .ended && rest.dropFirst(50).allSatisfy { $0 == .single })
  }

  @Test(
    arguments: [
      // A clip that is played again and again.
      [0, 40, 80, 2_000, 0, 40, 80, 2_000, 0, 40, 80, 2_000],
      // Slide shows that were joined.
      [0, 5_000, 0, 5_500, 0, 5_800, 0, 6_000],
      [0, 5_000, 10_000, 0, 3_500, 7_000, 10_500, 0, 3_500, 7_000, 10_500, 0, 5_000, 10_000],
      // Frames that are reordered, without decode times, and slips of an encoder.
      [0, 160, 80, 40, 120, 320, 240, 200, 280], [0, 400, 20, 420, 40, 440, 60, 460],
      // A clock that was set twice.
      [90_000, 90_040, 0, 40, 80, 3_600_000, 3_600_040, 120, 160],
      // A clip that comes three times.
      (0...300).map { $0 % 100 * 40 },
    ] as [[Int64]])
  func `clips that were joined, reordered frames and jumps are of one clock`(times: [Int64]) {
    #expect(Self.steps(times).allSatisfy { $0 == .single })
  }

  /// A sample that a program writes at a time; times are milliseconds.
  private struct Written {
    var kind: MediaKind
    var time: Int64
    var source: Int64
  }

  /// Packets of programs that play in real time: a frame each 40 ms and audio each 20 ms, in runs of some milliseconds.
  private static func written(_ programs: [(start: Int64, length: Int64)], run: Int64) -> [Written] {
    var runs: [(time: Int64, samples: [Written])] = []
    for program in programs {
      for first in stride(from: 0, to: program.length, by: Int(run)) {
        let time = program.start + first
        var samples: [Written] = []
        for source in stride(from: first, to: min(first + run, program.length), by: 40) {
          samples.append(Written(kind: .video, time: time, source: source))
        }
        for source in stride(from: first, to: min(first + run, program.length), by: 20) {
          samples.append(Written(kind: .audio, time: time, source: source))
        }
        runs.append((time, samples))
      }
    }
    return runs.sorted { $0.time < $1.time }.flatMap(\.samples)
  }

  /// Samples of a track: times on the stream's clock, and their distance from the source's, in milliseconds.
  private struct Shown {
    var times: [Int64] = []
    var offsets: [Int64] = []
  }

  @Test(arguments: [SourceTimeline.Pace.buffered, .pulled], [40, 120] as [Int64])
  func `a program that begins to write before the one before it ends is held back for seconds, and then is in sync`(
    pace: SourceTimeline.Pace, run: Int64
  ) throws {
    var timeline = SourceTimeline()
    timeline.restart(pace)
    var (now, delay): (Int64, Int64) = (0, 0)
    var shown: [MediaKind: Shown] = [:]
    for sample in Self.written([(0, 5_000), (4_500, 2_000), (6_600, 40_000)], run: run) {
      now = max(now, sample.time)
      let source = sample.source * 1_000_000
      let times = timeline.map(sample.kind, decode: source, presentation: source, arrival: Self.at(now))
      guard !timeline.skips(sample.kind, at: times, isKeyframe: true) else { continue }
      let time = (times.decode - Self.at(0)).nanoseconds / 1_000_000
      // The next one is read when this one is due within a span.
      if let span = timeline.bufferedSpan { now = max(now, time - span.nanoseconds / 1_000_000) }
      delay = max(delay, now - sample.time)
      shown[sample.kind, default: Shown()].times.append(time)
      shown[sample.kind, default: Shown()].offsets.append(time - sample.source)
    }
    // One step of 4.5 s is a gap, as long as nothing shows that both programs go on.
    #expect(delay < 6_000, "\(delay) ms")
    let (video, audio) = (try #require(shown[.video]), try #require(shown[.audio]))
    let offsets = (try #require(video.offsets.last), try #require(audio.offsets.last))
    #expect(abs(offsets.0 - offsets.1) <= 1)
    let steps = zip(video.times, video.times.dropFirst()).suffix(500).map { $1 - $0 }
    #expect(steps.allSatisfy { abs($0 - 40) <= 1 }, "\(steps)")
  }
}
