import Media
import Testing

@testable import Streaming

@Suite("Frame queue")
struct FrameQueueTests {
  private let feed = VideoFeed(capturer: ScriptedVideoCapturer(), inputQueue: VideoInputQueue())
  private let buffer = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var queue = FrameQueue()

  /// Enqueues the frame with a number, and returns the numbers of the dropped frames.
  private mutating func append(_ number: Int64) -> [Int64] {
    let frame = VideoFrame(buffer: self.buffer, timestamp: MediaTime(nanoseconds: number))
    return self.queue.append(SourceFrame(frame: frame, colorMatrix: .bt601, feed: self.feed)).map(\.number)
  }

  @Test mutating func `frames of a short stall are queued, and dequeued in order`() {
    for number in 0..<4 as Range<Int64> { #expect(self.append(number) == []) }
    #expect((0..<5).map { _ in self.queue.popFirst()?.number } == [0, 1, 2, 3, nil])
  }

  @Test mutating func `when the queue is full only the newest frame is kept`() {
    for number in 0..<4 as Range<Int64> { #expect(self.append(number) == []) }
    #expect(self.append(4) == [0, 1, 2, 3])
    #expect(self.queue.frames.map(\.number) == [4])
  }

  @Test mutating func `after a drop one frame is queued at most, until no frame was dropped for a while`() {
    for number in 0..<5 as Range<Int64> { _ = self.append(number) }
    #expect(self.append(5) == [4])
    #expect(self.append(6) == [5])
    for number in 0..<Int64(FrameQueue.countToRecover) {
      _ = self.queue.popFirst()
      #expect(self.append(100 + number) == [])
    }
    #expect(self.append(200) == [])
    #expect(self.queue.frames.count == 2)
  }

  @Test mutating func `all frames can be removed`() {
    for number in 0..<3 as Range<Int64> { _ = self.append(number) }
    #expect(self.queue.removeAll().map(\.number) == [0, 1, 2])
    #expect(self.queue.popFirst() == nil)
  }
}

extension SourceFrame {
  fileprivate var number: Int64 { self.frame.timestamp.nanoseconds }
}
