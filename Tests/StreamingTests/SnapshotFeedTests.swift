import Codecs
import Media
import Testing

@testable import Streaming

@Suite("Snapshot feed")
struct SnapshotFeedTests {
  private var feed = SnapshotFeed(frameInterval: .milliseconds(40))
  private let frame = ReleasedFrame(
    notPrivate: VideoFrame(buffer: PixelBuffer(format: VideoFormat(width: 16, height: 16)), timestamp: .zero))

  private func time(_ milliseconds: Int64) -> MediaTime {
    .zero + .milliseconds(milliseconds)
  }

  @Test mutating func `without requests no frame is delivered`() {
    #expect(self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)?.number == nil)
    #expect(self.feed.handleDeadline(at: self.time(1000))?.number == nil)
    #expect(self.feed.deadline == nil)
  }

  @Test mutating func `a request before the first frame is answered with the first frame`() {
    #expect(self.feed.request(after: 0, at: self.time(0), isStill: false)?.number == nil)
    #expect(self.feed.show(self.frame, generation: 0, at: self.time(5), isWanted: true)?.number == 1)
  }

  @Test(
    arguments: [
      (0, true), (40, true), (41, false), (80, false), (81, true), (5000, true),
    ] as [(Int64, Bool)])
  mutating func `a frame no older than an interval, or of a slow source, is delivered at once`(
    age: Int64, isDelivered: Bool
  ) {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(100), isWanted: false)
    let frame = self.feed.request(after: 0, at: self.time(100 + age), isStill: false)
    #expect(frame?.number == (isDelivered ? 1 : nil))
    #expect(self.feed.deadline == (isDelivered ? nil : self.time(180)))
  }

  @Test mutating func `a discarded frame is never delivered, and frames continue to be counted`() {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)
    _ = self.feed.request(after: 0, at: self.time(50), isStill: false)
    self.feed.discardEarlier()
    #expect(self.feed.deadline == nil && self.feed.handleDeadline(at: self.time(1000))?.number == nil)
    #expect(self.feed.request(after: 0, at: self.time(10), isStill: true)?.number == nil)
    #expect(self.feed.show(self.frame, generation: 0, at: self.time(60), isWanted: true)?.number == 2)
  }

  @Test mutating func `a frame that is a little late is waited for and delivered`() {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)
    _ = self.feed.request(after: 0, at: self.time(50), isStill: false)
    #expect(self.feed.show(self.frame, generation: 0, at: self.time(60), isWanted: true)?.number == 2)
    #expect(self.feed.deadline == nil)
  }

  @Test mutating func `when no new frame arrives the last one is delivered`() {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)
    _ = self.feed.request(after: 0, at: self.time(50), isStill: false)
    #expect(self.feed.handleDeadline(at: self.time(79))?.number == nil)
    #expect(self.feed.handleDeadline(at: self.time(80))?.number == 1)
    #expect(self.feed.handleDeadline(at: self.time(81))?.number == nil)
  }

  @Test mutating func `while encoding is paused the last frame is delivered at once`() {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)
    #expect(self.feed.request(after: 0, at: self.time(50), isStill: true)?.number == 1)
  }

  @Test mutating func `a viewer that has received the frame waits for the next one, however old it is`() {
    _ = self.feed.show(self.frame, generation: 0, at: self.time(0), isWanted: false)
    #expect(self.feed.request(after: 1, at: self.time(10), isStill: true)?.number == nil)
    #expect(self.feed.deadline == nil)
    #expect(self.feed.show(self.frame, generation: 0, at: self.time(9000), isWanted: true)?.number == 2)
  }
}
