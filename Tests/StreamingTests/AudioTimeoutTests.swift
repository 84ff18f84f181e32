import Media
import Testing

@testable import Streaming

@Suite("Silence in place of audio that has not come")
struct AudioTimeoutTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)
  private static let limit = MediaDuration.milliseconds(300)

  @Test func `silence begins when a block has not come in time, and ends before the next one`() {
    var timeout = AudioTimeout(Self.limit)
    #expect(timeout.deadline(expected: Self.start) == Self.start + Self.limit)
    timeout.handleUse(at: Self.start - .seconds(1))
    #expect(timeout.deadline(expected: Self.start) == Self.start + Self.limit)
    #expect(timeout.silence(expected: Self.start, at: Self.start + Self.limit) == .milliseconds(150))
  }

  @Test func `audio that comes at once, from seconds before the start, is not cut by silence`() {
    var timeout = AudioTimeout(Self.limit)
    // Blocks of 20 ms from 2.3 s ago on: between two of them the queue may be empty for a moment.
    for index in 0..<115 as Range<Int64> {
      let now = Self.start + .microseconds(index * 200)
      timeout.handleUse(at: now)
      let expected = Self.start - .milliseconds(2_300 - index * 20 - 20)
      #expect(timeout.deadline(expected: expected) >= now + Self.limit)
    }
    #expect(timeout.limit == Self.limit)
  }

  /// Records blocks of 20 ms that are replaced, with a time between them, the first one of a latency that then is lower by what comes
  /// faster than in real time.
  private static func cut(
    _ timeout: inout AudioTimeout, count: Int64, each step: MediaDuration, latency: MediaDuration,
    from start: MediaTime = Self.start
  ) {
    let block = MediaDuration.milliseconds(20)
    for index in 0..<count {
      let (arrival, time) = (step.nanoseconds * index, block.nanoseconds * index)
      timeout.handleCut(
        block, latency: latency + MediaDuration(nanoseconds: arrival - time),
        at: start + MediaDuration(nanoseconds: arrival))
    }
  }

  @Test func `a source of high latency is waited for longer, up to two seconds, until another one follows`() {
    var timeout = AudioTimeout(Self.limit)
    Self.cut(&timeout, count: 1, each: .milliseconds(20), latency: .seconds(1))
    #expect(timeout.limit == Self.limit)
    Self.cut(&timeout, count: 2, each: .milliseconds(20), latency: .seconds(1))
    #expect(timeout.limit == .milliseconds(1_150))
    Self.cut(&timeout, count: 9, each: .milliseconds(20), latency: .milliseconds(1_950), from: Self.start + .seconds(1))
    #expect(timeout.limit == AudioTimeout.maximum)
    timeout.reset()
    // After a stall blocks come in time again.
    Self.cut(&timeout, count: 50, each: .milliseconds(20), latency: .seconds(8), from: Self.start + .seconds(2))
    #expect(timeout.limit == Self.limit)
  }

  @Test func `blocks that come at once and are replaced do not raise the limit, those in real time behind them do`() {
    var timeout = AudioTimeout(Self.limit)
    Self.cut(&timeout, count: 115, each: .microseconds(200), latency: .milliseconds(2_300))
    // The pipeline is busy for a moment.
    Self.cut(&timeout, count: 1, each: .zero, latency: .milliseconds(800), from: Self.start + .milliseconds(500))
    #expect(timeout.limit == Self.limit)
    timeout.handleUse(at: Self.start + .milliseconds(520))
    Self.cut(&timeout, count: 1, each: .zero, latency: .milliseconds(800), from: Self.start + .seconds(1))
    #expect(timeout.limit == Self.limit)
    Self.cut(&timeout, count: 100, each: .milliseconds(20), latency: .milliseconds(800), from: Self.start + .seconds(2))
    #expect(timeout.limit == .milliseconds(950))
  }

  @Test func `a source that sends in bursts is waited for longer, one that stalls now and then is not`() {
    var timeout = AudioTimeout(Self.limit)
    // Of each burst the first blocks come too late, and the others are used.
    for second in 0..<2 as Range<Int64> {
      #expect(timeout.limit == Self.limit)
      let arrival = Self.start + .seconds(second)
      Self.cut(&timeout, count: 10, each: .zero, latency: .milliseconds(700), from: arrival)
      timeout.handleUse(at: arrival)
    }
    #expect(timeout.limit == .milliseconds(850))
    timeout.reset()
    for stall in 0..<4 as Range<Int64> {
      Self.cut(&timeout, count: 10, each: .zero, latency: .milliseconds(700), from: Self.start + .seconds(stall * 5))
    }
    #expect(timeout.limit == Self.limit)
  }

  @Test func `silence behind a block that came late is made in pieces of a second, that of a suspended machine is not`()
  {
    var timeout = AudioTimeout(Self.limit)
    timeout.handleUse(at: Self.start)
    var expected = Self.start - .milliseconds(2_500)
    let now = timeout.deadline(expected: expected)
    #expect(now == Self.start + Self.limit)
    var pieces: [MediaDuration] = []
    while timeout.deadline(expected: expected) <= now, pieces.count < 10 {
      pieces.append(timeout.silence(expected: expected, at: now))
      expected += pieces[pieces.count - 1]
    }
    #expect(pieces == [.seconds(1), .seconds(1), .milliseconds(650)])
    #expect(expected == now - Self.limit / 2)
    let later = now + .seconds(60)
    #expect(timeout.silence(expected: expected, at: later) == .seconds(60))
  }
}
