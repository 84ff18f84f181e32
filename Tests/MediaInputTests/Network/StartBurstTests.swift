import Media
import Testing

@testable import MediaInput
@testable import Threading

@Suite("Start of a source")
struct StartBurstTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)

  private static func at(_ milliseconds: Int64) -> MediaTime {
    Self.start + .milliseconds(milliseconds)
  }

  /// A sample with its timestamp and arrival, in milliseconds.
  private struct Sample {
    var kind = MediaKind.video
    var source: Int64
    var arrival: Int64
  }

  /// A timeline of a source whose first samples wait.
  private static func timeline(_ pace: SourceTimeline.Pace) -> SourceTimeline {
    var timeline = SourceTimeline()
    timeline.restart(pace, startWaits: true)
    return timeline
  }

  /// Times, in microseconds after the start, at which samples are shown: those that wait are moved, as by the playout buffer.
  private static func shown(_ samples: [Sample], _ timeline: inout SourceTimeline) -> [Int64] {
    var times: [MediaTime] = []
    for sample in samples {
      let source = sample.source * 1_000_000
      let time = timeline.map(sample.kind, decode: source, presentation: source, arrival: Self.at(sample.arrival))
      if timeline.startEnd != nil {
        let move = timeline.takeMove()
        times = times.map { $0 - move }
      }
      times.append(time.decode)
    }
    return times.map { ($0 - Self.start).nanoseconds / 1_000 }
  }

  private static func isAscending(_ times: [Int64]) -> Bool {
    zip(times, times.dropFirst()).allSatisfy { $0 < $1 }
  }

  @Test(arguments: [SourceTimeline.Pace.camera, .pulled, .unheld])
  func `frames that came while the source was probed keep their distances, and the newest one has its arrival`(
    pace: SourceTimeline.Pace
  ) {
    // 57 frames within 28 ms, then one each 40 ms.
    let samples = (0..<200 as Range<Int64>).map { index in
      Sample(source: index * 40, arrival: index <= 56 ? index / 2 : 28 + (index - 56) * 40)
    }
    var timeline = Self.timeline(pace)
    let times = Self.shown(samples, &timeline)
    #expect(times == samples.map { ($0.source - 56 * 40 + 28) * 1_000 })
    #expect(timeline.startEnd == nil)
  }

  @Test(arguments: [SourceTimeline.Pace.camera, .pulled, .unheld])
  func `audio and video of the start stay in sync, and no latency remains`(pace: SourceTimeline.Pace) {
    // The newest sample of the start is audio at 2.26 s.
    let samples = (0..<400 as Range<Int64>).flatMap { index -> [Sample] in
      let (source, arrival) = (index * 20, max(0, index * 20 - 2_260))
      let audio = Sample(kind: .audio, source: source, arrival: arrival)
      return index % 2 == 0 ? [Sample(source: source, arrival: arrival), audio] : [audio]
    }
    var timeline = Self.timeline(pace)
    let times = Self.shown(samples, &timeline)
    #expect(times == samples.map { ($0.source - 2_260) * 1_000 })
  }

  @Test func `five seconds are moved at most, and a server that sends more is held back`() {
    let samples = (0..<250 as Range<Int64>).map { Sample(source: $0 * 40, arrival: 0) }
    var pulled = Self.timeline(.pulled)
    let held = Self.shown(samples, &pulled)
    #expect(held == samples.map { ($0.source - 5_000) * 1_000 })
    // No sender of datagrams can be held back.
    var unheld = Self.timeline(.unheld)
    let times = Self.shown(samples, &unheld)
    #expect(times.first == -5_000_000 && Self.isAscending(times))
    #expect(times.last.map { (0...100_000).contains($0) } == true)
  }

  @Test func `what comes after a pause, or after the maximum wait, moves nothing`() {
    var paused = Self.timeline(.pulled)
    let late = Self.shown([Sample(source: 0, arrival: 0), Sample(source: 1_000, arrival: 100)], &paused)
    #expect(late == [0, 100_000])
    var steady = Self.timeline(.pulled)
    let samples = (0..<8 as Range<Int64>).map { Sample(source: $0 * 20, arrival: $0 * 20) }
    let times = Self.shown(samples + [Sample(source: 1_160, arrival: 160)], &steady)
    let expected = (0...8 as ClosedRange<Int64>).map { $0 * 20_000 }
    #expect(times == expected)
  }

  @Test func `samples without timestamps, of buffered sources and of publishers wait for no others`() {
    var untimed = Self.timeline(.unheld)
    _ = untimed.map(.video, decode: nil, presentation: nil, arrival: Self.start)
    #expect(untimed.startEnd == nil)
    var buffered = Self.timeline(.buffered)
    _ = Self.shown([Sample(source: 0, arrival: 0)], &buffered)
    #expect(buffered.startEnd == nil)
    var published = SourceTimeline()
    published.restart(.published)
    _ = Self.shown([Sample(source: 0, arrival: 0)], &published)
    let move = published.takeMove()
    #expect(published.startEnd == nil && move == .zero)
  }

  @Test func `packets of the start wait for its end, and are moved`() {
    let buffer = PlayoutBuffer()
    let due = [2_000, 2_040].map { MediaTime.zero + .milliseconds($0) }
    buffer.append(.tracks(NetworkTracks(video: nil)))
    buffer.appendLive(PlayoutBufferTests.packet(.video, isKeyframe: true, due: due[0]))
    buffer.appendLive(PlayoutBufferTests.packet(.audio, due: due[1]))
    let end = StreamClock.system.now() + .milliseconds(120)
    buffer.holdStart(until: end, movedBy: .milliseconds(40))
    if case .tracks = buffer.next() {} else { Issue.record("the tracks precede their packets") }
    let moved = [PlayoutBufferTests.take(buffer), PlayoutBufferTests.take(buffer)].compactMap { $0?.times }
    #expect(StreamClock.system.now() >= end)
    let expected = due.map { $0 - .milliseconds(40) }
    #expect(moved.map(\.decode) == expected && moved.map(\.presentation) == expected)
  }

  @Test func `packets behind one that has been delivered are neither moved nor waited for`() {
    let buffer = PlayoutBuffer()
    let due = [2_000, 2_040].map { MediaTime.zero + .milliseconds($0) }
    for time in due { buffer.appendLive(PlayoutBufferTests.packet(.audio, due: time)) }
    // The end of the wait has come.
    buffer.holdStart(until: .zero, movedBy: .milliseconds(40))
    let first = PlayoutBufferTests.take(buffer)
    // A packet that arrived before that end, and whose reader comes late.
    let end = StreamClock.system.now() + .seconds(600)
    buffer.holdStart(until: end, movedBy: .seconds(2))
    let second = PlayoutBufferTests.take(buffer)
    #expect(first?.times.decode == due[0] - .milliseconds(40))
    #expect(second?.times.decode == due[1] - .milliseconds(40))
  }
}
