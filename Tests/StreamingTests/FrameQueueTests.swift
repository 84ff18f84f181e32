import Media
import Testing

@testable import Streaming

@Suite("Queue of frames")
struct FrameQueueTests {
  private let feed = VideoFeed(capturer: ScriptedVideoCapturer(), inputQueue: VideoInputQueue())
  private let buffer = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var queue = FrameQueue()

  /// Adds the frame of a number, and gives the numbers of those that are dropped.
  private mutating func append(_ number: Int64) -> [Int64] {
    let frame = VideoFrame(buffer: self.buffer, timestamp: MediaTime(nanoseconds: number))
    return self.queue.append(SourceFrame(frame: frame, colorMatrix: .bt601, feed: self.feed)).map(\.number)
  }

  @Test mutating func `frames of a moment's rest wait, and come in order`() {
    for number in 0..<4 as Range<Int64> { #expect(self.append(number) == []) }
    #expect((0..<5).map { _ in self.queue.popFirst()?.number } == [0, 1, 2, 3, nil])
  }

  @Test mutating func `when too many wait the newest alone is kept`() {
    for number in 0..<4 as Range<Int64> { #expect(self.append(number) == []) }
    #expect(self.append(4) == [0, 1, 2, 3])
    #expect(self.queue.frames.map(\.number) == [4])
  }

  @Test mutating func `after a loss one waits at most, until there was none for a while`() {
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

  @Test mutating func `all can be taken out`() {
    for number in 0..<3 as Range<Int64> { _ = self.append(number) }
    #expect(self.queue.removeAll().map(\.number) == [0, 1, 2])
    #expect(self.queue.popFirst() == nil)
  }
}

extension SourceFrame {
  fileprivate var number: Int64 { self.frame.timestamp.nanoseconds }
}
