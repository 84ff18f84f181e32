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

  @Test func `a source of high latency is waited for longer, up to two seconds, until another one follows`() {
    var timeout = AudioTimeout(Self.limit)
    timeout.raise(to: .seconds(1))
    #expect(timeout.limit == .milliseconds(1_150))
    timeout.raise(to: .milliseconds(1_950))
    #expect(timeout.limit == AudioTimeout.maximum)
    timeout.reset()
    // After a stall blocks come in time again.
    timeout.raise(to: .seconds(8))
    #expect(timeout.limit == Self.limit)
  }
}
