import Media
import Testing

@testable import Streaming

@Suite("Frames that are handed over")
struct SnapshotFeedTests {
  private var feed = SnapshotFeed(frameInterval: .milliseconds(40))
  private let frame = VideoFrame(buffer: PixelBuffer(format: VideoFormat(width: 16, height: 16)), timestamp: .zero)

  private func time(_ milliseconds: Int64) -> MediaTime {
    .zero + .milliseconds(milliseconds)
  }

  @Test mutating func `while no one asks nothing is handed over`() {
    #expect(self.feed.show(self.frame, at: self.time(0), isWanted: false)?.number == nil)
    #expect(self.feed.handleDeadline(at: self.time(1000))?.number == nil)
    #expect(self.feed.deadline == nil)
  }

  @Test mutating func `who asks before the first frame gets the first`() {
    #expect(self.feed.request(after: 0, at: self.time(0), isStill: false)?.number == nil)
    #expect(self.feed.show(self.frame, at: self.time(5), isWanted: true)?.number == 1)
  }

  @Test(
    arguments: [
      (0, true), (40, true), (41, false), (80, false), (81, true), (5000, true),
    ] as [(Int64, Bool)])
  mutating func `a frame of up to an interval, or of a source that is slow, is handed over at once`(
    age: Int64, isHandedOver: Bool
  ) {
    _ = self.feed.show(self.frame, at: self.time(100), isWanted: false)
    let picture = self.feed.request(after: 0, at: self.time(100 + age), isStill: false)
    #expect(picture?.number == (isHandedOver ? 1 : nil))
    #expect(self.feed.deadline == (isHandedOver ? nil : self.time(180)))
  }

  @Test mutating func `a frame that is a little late is waited for, and taken`() {
    _ = self.feed.show(self.frame, at: self.time(0), isWanted: false)
    _ = self.feed.request(after: 0, at: self.time(50), isStill: false)
    #expect(self.feed.show(self.frame, at: self.time(60), isWanted: true)?.number == 2)
    #expect(self.feed.deadline == nil)
  }

  @Test mutating func `when it does not come the last one is handed over`() {
    _ = self.feed.show(self.frame, at: self.time(0), isWanted: false)
    _ = self.feed.request(after: 0, at: self.time(50), isStill: false)
    #expect(self.feed.handleDeadline(at: self.time(79))?.number == nil)
    #expect(self.feed.handleDeadline(at: self.time(80))?.number == 1)
    #expect(self.feed.handleDeadline(at: self.time(81))?.number == nil)
  }

  @Test mutating func `while encoding is paused the last one is handed over at once`() {
    _ = self.feed.show(self.frame, at: self.time(0), isWanted: false)
    #expect(self.feed.request(after: 0, at: self.time(50), isStill: true)?.number == 1)
  }

  @Test mutating func `who has seen the frame waits for the next one, however old that is`() {
    _ = self.feed.show(self.frame, at: self.time(0), isWanted: false)
    #expect(self.feed.request(after: 1, at: self.time(10), isStill: true)?.number == nil)
    #expect(self.feed.deadline == nil)
    #expect(self.feed.show(self.frame, at: self.time(9000), isWanted: true)?.number == 2)
  }
}
