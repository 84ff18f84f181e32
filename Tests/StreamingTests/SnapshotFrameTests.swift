import Codecs
import Effects
import Media
import NIOCore
import Testing

@testable import Streaming

@Suite("Frames of snapshots")
struct SnapshotFrameTests {
  private var requests = SnapshotRequests()
  private let frame = ReleasedFrame(
    notPrivate: VideoFrame(buffer: PixelBuffer(format: VideoFormat(width: 16, height: 16)), timestamp: .zero))

  init() { self.connect(isStill: false) }

  private mutating func connect(isStill: Bool) {
    self.requests.connect(
      .init(
        format: VideoFormat(width: 16, height: 16), frameInterval: .milliseconds(40), isStill: { isStill }, ask: {}))
  }

  private func time(_ milliseconds: Int64) -> MediaTime {
    // The clock of a machine that has just started is near zero.
    .zero + .seconds(100) + .milliseconds(milliseconds)
  }

  private mutating func show(generation: Int = 0, at milliseconds: Int64) {
    self.requests.show(self.frame, generation: generation, at: self.time(milliseconds))
  }

  /// Requests an image of any frame.
  private mutating func request(at milliseconds: Int64) {
    _ = self.requests.addSnapshot(width: nil, at: self.time(milliseconds)) { _ in }
  }

  /// Number of the frame that is encoded next; nil where one is waited for, with the time until when.
  private mutating func next(at milliseconds: Int64) -> (number: Int?, deadline: MediaTime?) {
    switch self.requests.nextStep(at: self.time(milliseconds)) {
    case .encode(let output, let jobs):
      for job in jobs {
        var answer = SnapshotRequests.Answer.success(ByteBuffer())
        _ = self.requests.finish(job, of: output, &answer)
      }
      return (output.number, nil)
    case .ask: return self.next(at: milliseconds)
    case .wait(let deadline): return (nil, deadline)
    case .end: return (nil, nil)
    }
  }

  @Test mutating func `without requests no frame is delivered`() {
    self.show(at: 0)
    #expect(self.next(at: 1000).number == nil)
  }

  @Test mutating func `a request before the first frame is answered with the first frame`() {
    self.request(at: 0)
    let first = self.next(at: 0)
    #expect(first.number == nil && first.deadline == nil)
    self.show(at: 5)
    #expect(self.next(at: 5).number == 1)
  }

  @Test(
    arguments: [
      (0, true), (40, true), (41, false), (79, false), (80, true), (5000, true),
    ] as [(Int64, Bool)])
  mutating func `a frame no older than an interval, or of a slow source, is delivered at once`(
    age: Int64, isDelivered: Bool
  ) {
    self.show(at: 100)
    self.request(at: 100 + age)
    let (number, deadline) = self.next(at: 100 + age)
    #expect(number == (isDelivered ? 1 : nil))
    #expect(deadline == (isDelivered ? nil : self.time(180)))
  }

  @Test mutating func `a discarded frame is never delivered, and frames continue to be counted`() {
    self.show(at: 0)
    self.request(at: 50)
    #expect(self.next(at: 50).number == nil)
    self.requests.discardEarlier(to: 1)
    let discarded = self.next(at: 1000)
    #expect(discarded.number == nil && discarded.deadline == nil)
    self.show(generation: 1, at: 1010)
    #expect(self.next(at: 1010).number == 2)
  }

  @Test mutating func `a frame that became private in time is kept when earlier ones are discarded`() {
    self.show(generation: 1, at: 0)
    self.requests.discardEarlier(to: 1)
    self.request(at: 1)
    #expect(self.next(at: 1).number == 1)
  }

  @Test mutating func `a frame that is a little late is waited for and delivered`() {
    self.show(at: 0)
    self.request(at: 50)
    #expect(self.next(at: 50).number == nil)
    self.show(at: 60)
    #expect(self.next(at: 60).number == 2)
  }

  @Test mutating func `when no new frame arrives the last one is delivered`() {
    self.show(at: 0)
    self.request(at: 50)
    #expect(self.next(at: 50).deadline == self.time(80))
    #expect(self.next(at: 79).number == nil)
    #expect(self.next(at: 80).number == 1)
    #expect(self.next(at: 81).number == nil)
  }

  @Test mutating func `while encoding is paused the last frame is delivered at once`() {
    self.connect(isStill: true)
    self.show(at: 0)
    self.request(at: 50)
    #expect(self.next(at: 50).number == 1)
  }

  @Test mutating func `a viewer that has received the frame waits for the next one, however old it is`() {
    self.connect(isStill: true)
    self.show(at: 0)
    let (images, continuation) = AsyncStream<ByteBuffer>.makeStream()
    _ = self.requests.addViewer(
      width: nil, frameRate: 30, at: self.time(0), SnapshotRequests.Viewer(continuation, as: \.file))
    #expect(self.next(at: 0).number == 1)
    let next = self.next(at: 5000)
    #expect(next.number == nil && next.deadline == nil)
    self.show(at: 9000)
    #expect(self.next(at: 9000).number == 2)
    withExtendedLifetime(images) {}
  }

  @Test mutating func `the last frame before a still one reaches viewers of every rate`() {
    let (images, continuation) = AsyncStream<ByteBuffer>.makeStream()
    for frameRate in [1, 30] {
      _ = self.requests.addViewer(
        width: nil, frameRate: frameRate, at: self.time(0), SnapshotRequests.Viewer(continuation, as: \.file))
    }
    self.show(at: 0)
    #expect(self.next(at: 0).number == 1)
    self.show(at: 40)
    #expect(self.next(at: 40).number == 2)
    // The one of a low rate has not seen the second frame.
    #expect(self.next(at: 500).deadline == self.time(1000))
    #expect(self.next(at: 1000).number == 2)
    #expect(self.next(at: 5000).deadline == nil)
    withExtendedLifetime(images) {}
  }

  @Test mutating func `access units that are passed through are decoded until ten seconds after the last request`() {
    self.show(at: 0)
    let isDecodedBefore = self.requests.passThrough()
    self.request(at: 10)
    let needsThread = self.requests.needsThread()
    #expect(!isDecodedBefore && needsThread)
    // Viewers no longer see the frame that was encoded.
    guard case .ask = self.requests.nextStep(at: self.time(10)) else {
      Issue.record("it asks for no frame")
      return
    }
    let isDecoded = self.requests.passThrough()
    #expect(isDecoded)
    self.show(at: 20)
    #expect(self.next(at: 20).number == 2)
    self.request(at: 5000)
    #expect(self.next(at: 5000).number == 2)
    #expect(self.next(at: 14_999).deadline == self.time(15_000))
    let isStillDecoded = self.requests.passThrough()
    #expect(isStillDecoded)
    guard case .end = self.requests.nextStep(at: self.time(15_000)) else {
      Issue.record("the thread does not end")
      return
    }
    let isDecodedAfter = self.requests.passThrough()
    #expect(!isDecodedAfter && self.requests.latest == nil)
  }

  @Test mutating func `a copy replaces the frame that it is of, and no other`() {
    let copy = self.frame.copy
    self.show(at: 0)
    self.requests.replace(1, with: copy)
    #expect(self.requests.latest?.frame.buffer === copy.frame.buffer)
    self.show(at: 40)
    self.requests.replace(1, with: copy)
    #expect(self.requests.latest?.frame.buffer === self.frame.frame.buffer)
  }
}
