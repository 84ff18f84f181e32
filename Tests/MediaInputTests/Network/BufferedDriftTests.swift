import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Drift of buffered sources")
struct BufferedDriftTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)
  private static let second: Int64 = 1_000_000_000
  private static let minute = 60 * Self.second

  /// A source of segments of four seconds, ten frames a second, which are read when they are published and their frames are due.
  private struct Source {
    /// Deviation of its clock, in millionths: negative where it runs slow.
    var partsPerMillion: Int64 = 0
    /// Time by which it is read behind its last segment, in nanoseconds.
    var distance: Int64 = 0
    /// Time that it takes to fetch a segment at a time, in nanoseconds.
    var fetchTime: (Int64) -> Int64 = { _ in 0 }

    /// Time from the publication of a frame to its presentation at the end of each minute, and the minimum of the times by which segments
    /// came before their presentation, in nanoseconds.
    func play(minutes: Int64) -> (latencies: [Int64], lead: Int64) {
      var timeline = SourceTimeline()
      timeline.restart(.buffered)
      let interval = BufferedDriftTests.second / 10
      var (arrival, shown): (Int64, Int64) = (0, 0)
      var (latencies, lead): ([Int64], Int64) = ([], .max)
      for index in 0..<minutes * 600 {
        let source = index * interval
        let time = source - source / 1_000_000 * self.partsPerMillion
        if index % 40 == 0 {
          arrival = max(arrival, time + 4 * BufferedDriftTests.second - self.distance)
          arrival += self.fetchTime(arrival)
        }
        if index > 0 { arrival = max(arrival, shown + interval - SourceTimeline.maximumSpan.nanoseconds) }
        let now = BufferedDriftTests.start + MediaDuration(nanoseconds: arrival)
        let mapped = timeline.map(.video, decode: source, presentation: nil, arrival: now)
        shown = (mapped.decode - BufferedDriftTests.start).nanoseconds
        if index % 40 == 0 { lead = min(lead, shown - arrival) }
        if index % 600 == 599 { latencies.append(shown - time) }
      }
      return (latencies, lead)
    }
  }

  @Test(arguments: 0..<6 as Range<Int64>)
  func `a single stall, in whichever minute, changes nothing`(stalled: Int64) {
    var source = Source()
    source.fetchTime = { time in
      (stalled * Self.minute + 20 * Self.second..<stalled * Self.minute + 24 * Self.second).contains(time)
        ? 900_000_000 : 0
    }
    let (latencies, lead) = source.play(minutes: 60)
    #expect(lead == -400_000_000, "\(lead) ns")
    #expect(Set(latencies) == [4_500_000_000], "\(latencies)")
  }

  @Test func `a source that is always ahead, and fetched in changing times, keeps its times`() {
    var generator = SplitMix(seed: 3)
    var source = Source(distance: 12 * Self.second)
    source.fetchTime = { _ in Int64.random(in: 0...1_200_000_000, using: &generator) }
    let (latencies, lead) = source.play(minutes: 360)
    #expect(lead >= 500_000_000, "\(lead) ns")
    #expect(Set(latencies).count == 1, "\(Set(latencies))")
  }

  @Test(arguments: [-500, -200, -50] as [Int64])
  func `a slow clock does not empty the buffer in six hours`(partsPerMillion: Int64) {
    var generator = SplitMix(seed: 4)
    var source = Source(partsPerMillion: partsPerMillion)
    source.fetchTime = { _ in Int64.random(in: 0...50_000_000, using: &generator) }
    let (latencies, lead) = source.play(minutes: 360)
    // Without a correction, -0.5 s again and again.
    #expect(lead >= 50_000_000, "\(lead) ns")
    let steps = zip(latencies, latencies.dropFirst()).map { abs($0 - $1) }
    #expect(steps.allSatisfy { $0 <= 31_000_000 }, "\(steps)")
  }

  @Test(arguments: [-200, 200] as [Int64])
  func `the clock of a source that is always ahead is not followed while it is`(partsPerMillion: Int64) {
    let (latencies, lead) = Source(partsPerMillion: partsPerMillion, distance: 20 * Self.second).play(minutes: 360)
    #expect(lead >= 500_000_000, "\(lead) ns")
    // Latency changes by the drift: the presentation is that of the first minute.
    let drift = -(latencies[359] - latencies[0])
    #expect(abs(drift + 359 * 60 * 1_000 * partsPerMillion) < 1_000_000, "\(drift) ns")
  }

  @Test func `time that was added while a server was slow is removed again`() {
    var generator = SplitMix(seed: 5)
    var source = Source(distance: 12 * Self.second)
    // For an hour, the fetching of a segment takes up to 1.9 s.
    source.fetchTime = { time in
      (120 * Self.minute..<180 * Self.minute).contains(time)
        ? Int64.random(in: 1_750_000_000...1_900_000_000, using: &generator) : 100_000_000
    }
    let (latencies, _) = source.play(minutes: 360)
    #expect(latencies[170] > latencies[100] + 100_000_000)
    #expect(latencies[359] == latencies[100])
  }
}
