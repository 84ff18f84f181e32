import Capture
import Media
import Testing

@testable import Streaming

@Suite("Audio input queue")
struct AudioInputQueueTests {
  private static let start = MediaTime(nanoseconds: 1_000_000_000_000)
  private let queue = AudioInputQueue()

  /// Numbers of the blocks of 20 ms that are dropped, which arrive at these times after the start.
  private func dropped(_ arrivals: [MediaDuration]) -> [Int] {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let feed = AudioFeed(capturer: ScriptedAudioCapturer(format: format), inputQueue: self.queue)
    self.queue.withSlot { $0.connect(feed) }
    return arrivals.indices.filter { index in
      let block = AudioBlock(
        format: format, timestamp: Self.start + .milliseconds(20 * Int64(index)),
        samples: [Float](repeating: 0, count: 960))
      let reason = self.queue.consume(SourceAudio(block: block, feed: feed), at: Self.start + arrivals[index])
      #expect(reason == nil || reason == .late)
      return reason != nil
    }
  }

  @Test func `six seconds that come at once wait`() {
    let dropped = self.dropped([MediaDuration](repeating: .zero, count: 310))
    #expect(dropped == Array(300..<310))
    #expect(self.queue.counts.dropped == 10 && self.queue.counts.queued == .seconds(6))
  }

  @Test func `audio that has waited for a second is followed by no more than that`() {
    let dropped = self.dropped((0..<60 as Range<Int64>).map { MediaDuration.milliseconds(20 * $0) })
    #expect(dropped == Array(50..<60))
  }
}
