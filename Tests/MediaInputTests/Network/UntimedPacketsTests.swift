import Media
import Testing

@testable import MediaInput

@Suite("Packets without timestamps")
struct UntimedPacketsTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)
  /// 25 frames a second, as declared.
  private static let interval = MediaDuration.milliseconds(40)

  /// Wait for a packet by its number, as nanoseconds.
  private typealias Waits = (Int) -> Int64

  /// Numbers of the first packets of a state: of those that are counted, and of those with their times of arrival.
  private static func changes(_ count: Int, mayBeLive: Bool = true, _ waits: Waits) -> [Int] {
    var packets = UntimedPackets(mayBeLive: mayBeLive)
    var (changes, isLive) = ([Int](), false)
    for index in 0..<count {
      let time = packets.time(of: Self.interval, after: MediaDuration(nanoseconds: waits(index)))
      #expect((time == nil) == packets.isLive)
      if packets.isLive != isLive { changes.append(index) }
      isLive = packets.isLive
    }
    return changes
  }

  @Test func `what is sent faster than it plays is counted`() {
    var packets = UntimedPackets(mayBeLive: true)
    let times = (0..<500).map { _ in packets.time(of: Self.interval, after: .milliseconds(1)) }
    #expect(times == (0..<500).map { MediaTime.zero + .milliseconds(40 * $0) })
    // Ten times as fast as it plays, and with a stall of a second each minute.
    #expect(Self.changes(10_000) { _ in 4_000_000 } == [])
    #expect(Self.changes(10_000) { $0 % 1_500 == 700 ? 1_000_000_000 : 0 } == [])
  }

  @Test(arguments: [0.4, 0.5, 0.98, 1, 1.02, 1.2, 2.4])
  func `a source that is waited for is live after two seconds of it, at the rate that it declares or another one`(
    speed: Double
  ) {
    let wait = Int64(40_000_000 / speed)
    let first = Int((2_000_000_000 / wait) + (2_000_000_000 % wait == 0 ? 0 : 1)) - 1
    #expect(Self.changes(20_000) { _ in wait } == [first])
  }

  @Test func `a live source may begin with three seconds at once, send ten frames at a time, and stall`() {
    #expect(Self.changes(20_000) { $0 < 75 ? 0 : 40_000_000 } == [124])
    #expect(Self.changes(20_000) { $0 % 10 == 0 ? 400_000_000 : 0 }.count == 1)
    // A second and a half at once after a stall of that time.
    #expect(
      Self.changes(20_000) { $0 % 1_000 == 500 ? 1_500_000_000 : $0 % 1_000 > 500 && $0 % 1_000 < 537 ? 0 : 40_000_000 }
        == [49])
  }

  @Test func `a source that was live is counted again once three seconds come at once, and a file is never live`() {
    #expect(Self.changes(1_000) { $0 < 300 ? 40_000_000 : 0 } == [49, 349])
    #expect(Self.changes(20_000, mayBeLive: false) { _ in 40_000_000 } == [])
  }

  @Test func `packets of unknown duration have their times of arrival, and damaged waits and durations do not trap`() {
    var packets = UntimedPackets(mayBeLive: true)
    #expect(packets.time(of: nil, after: .zero) == nil && !packets.isLive)
    for value in [Int64.min, -1, 0, 1, .max] {
      for _ in 0..<100 {
        _ = packets.time(of: MediaDuration(nanoseconds: value), after: MediaDuration(nanoseconds: value))
      }
    }
  }

  /// Times of packets relative to their arrival, in milliseconds, on the stream's clock.
  ///
  /// - Parameter arrival: Arrival of a packet by its number, and by the time of the one before it, on the stream's clock.
  private static func latencies(_ count: Int, arrival: (Int, MediaTime?) -> MediaTime) -> [Int64] {
    var packets = UntimedPackets(mayBeLive: true)
    var timeline = SourceTimeline()
    timeline.restart(.counted)
    var (last, previous): (MediaTime?, MediaTime) = (nil, Self.start)
    return (0..<count).map { index in
      let arrival = arrival(index, last)
      let wasLive = packets.isLive
      // A source that is held back is not waited for.
      let isHeld = timeline.bufferedSpan.map { span in last.map { $0 - previous > span - .milliseconds(80) } ?? false }
      let time = packets.time(of: Self.interval, after: isHeld == true ? .zero : arrival - previous)
      if packets.isLive != wasLive { timeline.restart(packets.isLive ? .unheld : .counted) }
      previous = arrival
      let mapped = timeline.map(.video, decode: time?.nanoseconds, presentation: nil, arrival: arrival).decode
      last = mapped
      return (mapped - arrival).nanoseconds / 1_000_000
    }
  }

  @Test(arguments: [0.5, 0.98, 1.02, 1.2, 2.4]) func `a live source has no latency, whatever rate it declares`(
    speed: Double
  ) {
    let latencies = Self.latencies(5_000) { index, _ in
      Self.start + MediaDuration(nanoseconds: Int64(Double(index) * 40_000_000 / speed))
    }
    // Frames before the decision have the times of their count.
    #expect(latencies.suffix(4_700).allSatisfy { $0 == 0 }, "\(latencies.max() ?? 0) ms")
    #expect(latencies.allSatisfy { abs($0) <= 3_000 })
  }

  @Test func `a file is played in real time from its first frame on, and at most six seconds wait`() {
    // The sender is held back while six seconds wait.
    var places: [MediaTime] = []
    let latencies = Self.latencies(2_000) { index, last in
      let arrival = max(places.last ?? Self.start, (last ?? Self.start) + Self.interval - SourceTimeline.maximumLead)
      places.append(arrival)
      return arrival
    }
    let times = zip(places, latencies).map { $0 + .milliseconds($1) }
    for (index, time) in times.enumerated() {
      #expect(abs((time - Self.start).nanoseconds - Int64(index) * 40_000_000) <= 2_000_000)
    }
    #expect(latencies.max() ?? 0 >= 5_900 && latencies.max() ?? 0 <= 6_000)
  }
}
