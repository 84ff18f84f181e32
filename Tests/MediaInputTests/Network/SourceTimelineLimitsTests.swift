import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Limits of the source timeline")
struct SourceTimelineLimitsTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)

  private static func at(_ microseconds: Int64) -> MediaTime { Self.start + .microseconds(microseconds) }

  private static func timeline(_ pace: SourceTimeline.Pace = .unheld) -> SourceTimeline {
    var timeline = SourceTimeline()
    timeline.restart(pace)
    return timeline
  }

  @Test func `samples without timestamps have their time of arrival, at least 100 µs apart`() {
    var timeline = Self.timeline()
    let times = [0, 10, 20, 500_000].map {
      timeline.map(.video, decode: nil, presentation: nil, arrival: Self.at($0))
    }
    #expect(times.map(\.decode) == [0, 100, 200, 500_000].map { Self.at($0) })
    #expect(times.map(\.presentation) == times.map(\.decode))
  }

  @Test func `samples with equal timestamps are separated, in each track independently`() {
    var timeline = Self.timeline()
    let video = (0..<3).map { _ in timeline.map(.video, decode: 0, presentation: 0, arrival: Self.at(0)).decode }
    #expect(video == [0, 100, 200].map { Self.at($0) })
    #expect(timeline.map(.audio, decode: 0, presentation: 0, arrival: Self.at(0)).decode == Self.at(0))
  }

  @Test(
    arguments: [
      (0, 80, 80), (0, 0, 0), (100, 40, 0), (0, 2_000, 2_000), (0, 2_001, 2_000), (0, 3_600_000, 2_000),
    ] as [(Int64, Int64, Int64)])
  func `presentation follows decoding by at most two seconds, and never precedes it`(
    decode: Int64, presentation: Int64, reordering: Int64
  ) {
    var timeline = Self.timeline()
    let times = timeline.map(
      .video, decode: decode * 1_000_000, presentation: presentation * 1_000_000, arrival: Self.at(0))
    #expect(times.decode == Self.at(0) && times.presentation == Self.at(reordering * 1000))
  }

  @Test func `one of decode and presentation time is enough`() {
    var timeline = Self.timeline()
    _ = timeline.map(.video, decode: 5_000_000_000, presentation: nil, arrival: Self.at(0))
    let next = timeline.map(.video, decode: nil, presentation: 5_040_000_000, arrival: Self.at(90_000))
    #expect(next == SourceTimeline.Times(decode: Self.at(40_000), presentation: Self.at(40_000)))
  }

  @Test func `a new connection has a new mapping, and mapped times keep increasing`() {
    var timeline = Self.timeline(.buffered)
    let before = timeline.map(.video, decode: 0, presentation: 0, arrival: Self.at(0)).decode
    #expect(before == Self.at(500_000))
    timeline.restart(.unheld)
    // The first sample arrives before the buffered one is shown.
    let first = timeline.map(.video, decode: 77_000_000_000, presentation: 77_000_000_000, arrival: Self.at(1_000))
    #expect(first.decode == Self.at(500_100))
    let later = timeline.map(.video, decode: 78_000_000_000, presentation: 78_000_000_000, arrival: Self.at(1_001_000))
    #expect(later.decode == Self.at(1_001_000))
  }

  @Test func `a source clock that runs faster is followed at once, without latency`() {
    var timeline = Self.timeline()
    // 1,000 ppm fast, for ten minutes, ten frames a second.
    for index: Int64 in 0..<6_000 {
      let arrival = Self.at(index * 100_000)
      let time = timeline.map(.video, decode: index * 100_100_000, presentation: nil, arrival: arrival).decode
      #expect(time == arrival)
    }
  }

  @Test(arguments: [0, 50, 200] as [Int64])
  func `a slower clock leaves at most its drift of ten seconds and the network's jitter`(partsPerMillion: Int64) {
    var timeline = Self.timeline()
    var maximum = MediaDuration.zero
    for index: Int64 in 0..<36_000 {
      // Ten frames a second for an hour; every third arrives 20 ms later than the others.
      let arrival = Self.at(index * 100_000 + (index % 3 == 2 ? 20_000 : 0))
      let source = index * (100_000_000 - partsPerMillion * 100)
      let time = timeline.map(.video, decode: source, presentation: nil, arrival: arrival).decode
      maximum = max(maximum, arrival - time)
    }
    #expect(maximum >= .milliseconds(20) && maximum <= .milliseconds(20 + 2 * partsPerMillion / 100 + 1))
  }

  private static func magnitude(_ duration: MediaDuration) -> MediaDuration {
    duration < .zero ? MediaDuration.zero - duration : duration
  }

  /// Clocks that run fast or slow by 200 millionths, for two hours: 1.44 s in all. Video and audio arrive up to 30 ms late.
  @Test(arguments: [SourceTimeline.Pace.unheld, .camera, .published], [-200, 0, 200] as [Int64])
  func `a clock that drifts for two hours is followed without steps, and audio and video stay in sync`(
    pace: SourceTimeline.Pace, partsPerMillion: Int64
  ) {
    var timeline = Self.timeline(pace)
    var generator = SplitMix(seed: 1)
    var (deviation, step, skew) = (MediaDuration.zero, MediaDuration.zero, MediaDuration.zero)
    var offset: MediaDuration?
    for index in 0..<Int64(2 * 3_600 * 10) {
      let sent = index * 100_000
      let source = index * (100_000_000 + partsPerMillion * 100)
      var shown: [MediaTime] = []
      for kind in [MediaKind.video, .audio] {
        let arrival = Self.at(sent + Int64.random(in: 0...30_000, using: &generator))
        shown.append(timeline.map(kind, decode: source, presentation: source, arrival: arrival).decode)
      }
      // After what it takes to find the lowest latency.
      guard index > 300 * 10 else { continue }
      deviation = max(deviation, Self.magnitude(shown[0] - Self.at(sent)))
      skew = max(skew, Self.magnitude(shown[1] - shown[0]))
      let current = shown[0] - MediaTime(nanoseconds: source)
      if let offset { step = max(step, Self.magnitude(current - offset)) }
      offset = current
    }
    #expect(deviation <= .milliseconds(15), "\(deviation.seconds) s")
    #expect(skew <= .milliseconds(5) && step <= .milliseconds(5), "\(skew.seconds) s, \(step.seconds) s")
  }

  /// Hours by which the timestamps of the audio differ from those of the video, as of encoders that count each from a start of its own.
  @Test(arguments: [SourceTimeline.Pace.unheld, .pulled, .camera, .published, .buffered], [-20, 20] as [Int64])
  func `tracks whose timestamps are hours apart are shown as they come`(pace: SourceTimeline.Pace, hours: Int64) {
    var timeline = Self.timeline(pace)
    let delay: Int64 = pace == .buffered ? 500_000 : 0
    for index in 0..<500 as Range<Int64> {
      let (arrival, source) = (index * 40_000, index * 40_000_000 + 30 * 3_600_000_000_000)
      for (kind, shift) in [(.video, 0), (.audio, hours * 3_600_000_000_000)] as [(MediaKind, Int64)] {
        let time = timeline.map(
          kind, decode: source + shift, presentation: source + shift, arrival: Self.at(arrival)
        ).decode
        #expect(abs((time - Self.at(arrival + delay)).nanoseconds) <= 40_000_000, "\(kind) \(index)")
      }
    }
  }
}
