import Codecs
import Media
import NIOCore
import Synchronization
import Testing

@testable import Streaming

@Suite("Snapshot requests")
struct SnapshotRequestsTests {
  private var requests = SnapshotRequests()
  private let answers = Answers()
  /// Number of the last frame that was shown.
  private var shown = 0

  /// Results delivered to the waiting requests.
  private final class Answers: Sendable {
    let values = Mutex<[SnapshotRequests.Answer]>([])
  }

  init() {
    self.requests.connect(
      .init(
        format: VideoFormat(width: 640, height: 360), frameInterval: .milliseconds(40), isStill: { false }, ask: {}))
  }

  private func time(_ milliseconds: Int64) -> MediaTime {
    // The clock of a machine that has just started is near zero.
    .zero + .seconds(100) + .milliseconds(milliseconds)
  }

  /// Shows the frames up to a number.
  private mutating func show(_ number: Int, generation: Int = 0, at time: MediaTime) {
    while self.shown < number {
      self.shown += 1
      let buffer = PixelBuffer(format: VideoFormat(width: 16, height: 16))
      self.requests.show(
        ReleasedFrame(notPrivate: VideoFrame(buffer: buffer, timestamp: time)), generation: generation, at: time)
    }
  }

  private mutating func snapshot(
    width: Int?, from network: String? = nil, at milliseconds: Int64
  ) -> SnapshotRequests.Answer? {
    let answers = self.answers
    return self.requests.addSnapshot(width: width, from: network, at: self.time(milliseconds)) { answer in
      answers.values.withLock { $0.append(answer) }
    }
  }

  /// A viewer, and the images that it gets.
  private static func viewer() -> (images: AsyncStream<ByteBuffer>, viewer: SnapshotRequests.Viewer) {
    let (images, continuation) = AsyncStream<ByteBuffer>.makeStream()
    return (images, SnapshotRequests.Viewer(continuation, as: \.file))
  }

  /// Runs the thread until it waits: shows the frame and encodes the files.
  ///
  /// - Returns: The encoded widths; those whose file existed already are in a list of their own.
  private mutating func work(number: Int, at milliseconds: Int64) -> (made: [Int], reused: [Int]) {
    let now = self.time(milliseconds)
    var (made, reused): ([Int], [Int]) = ([], [])
    self.show(number, at: now)
    while true {
      switch self.requests.nextStep(at: now) {
      case .end, .wait: return (made, reused)
      case .ask: continue
      case .encode(let frame, let jobs):
        for job in jobs {
          if job.file == nil { made.append(job.size.width) } else { reused.append(job.size.width) }
          var answer = SnapshotRequests.Answer.success(job.file ?? ByteBuffer(integer: frame.number))
          for viewer in self.requests.finish(job, of: frame, &answer)?.viewers ?? [] {
            viewer.show(MotionJPEGImage(file: ByteBuffer(integer: 0), generation: 0))
          }
          for snapshot in job.snapshots { snapshot(answer) }
        }
      }
    }
  }

  @Test mutating func `snapshots of one width share one file, and each other width adds one`() {
    for _ in 0..<10 { #expect(self.snapshot(width: 320, at: 0) == nil) }
    for width in [nil, 640, 1280] { #expect(self.snapshot(width: width, at: 0) == nil) }
    #expect(self.work(number: 1, at: 1).made.sorted() == [320, 640])
    #expect(self.answers.values.withLock { $0.count } == 13)
  }

  @Test mutating func `within a frame interval later requests get the same file`() {
    _ = self.snapshot(width: 320, at: 0)
    #expect(self.work(number: 1, at: 0).made == [320])
    #expect(self.snapshot(width: 321, at: 40) == .success(ByteBuffer(integer: 1)))
    #expect(self.snapshot(width: 320, at: 41) == nil)
  }

  @Test mutating func `an unchanged frame is not encoded again`() {
    _ = self.snapshot(width: 320, at: 0)
    _ = self.work(number: 1, at: 0)
    _ = self.snapshot(width: 320, at: 5000)
    let (made, reused) = self.work(number: 1, at: 5000)
    #expect(made.isEmpty && reused == [320])
  }

  @Test mutating func `the ninth width at once is refused, and accepted when the first are done`() {
    for width in 0..<8 { #expect(self.snapshot(width: 100 + 2 * width, at: 0) == nil) }
    #expect(self.snapshot(width: 300, at: 0) == .failure(.tooManySnapshotWidths))
    #expect(self.snapshot(width: 100, at: 0) == nil)
    #expect(self.work(number: 1, at: 0).made.count == 8)
    #expect(self.snapshot(width: 300, at: 0) == nil)
  }

  @Test mutating func `clients of one network have two widths at a time, and the stream's own is always there`() {
    let refused = SnapshotRequests.Answer.failure(.tooManySnapshotWidths)
    for width in [100, 102, 100] { #expect(self.snapshot(width: width, from: "a", at: 0) == nil) }
    #expect(self.snapshot(width: 104, from: "a", at: 0) == refused)
    for (number, network) in ["b", "c", "d"].enumerated() {
      for width in [0, 2] { #expect(self.snapshot(width: 200 + 10 * number + width, from: network, at: 0) == nil) }
    }
    #expect(self.snapshot(width: 300, from: "e", at: 0) == refused)
    for width in [nil, 640] { #expect(self.snapshot(width: width, from: "a", at: 0) == nil) }
    #expect(self.work(number: 1, at: 0).made.count == 9)
    #expect(self.snapshot(width: 104, from: "a", at: 0) == nil)
  }

  @Test mutating func `groups of one network's viewers degrade those of no other`() {
    func watch(_ width: Int?, _ frameRate: Int, _ network: String?) -> AsyncStream<ByteBuffer> {
      let (images, viewer) = Self.viewer()
      _ = self.requests.addViewer(width: width, frameRate: frameRate, from: network, at: self.time(0), viewer)
      return images
    }
    let hostile = (0..<8).map { watch(78 + 2 * $0, 1, "a") }
    let own = watch(nil, 10, "b")
    let narrow = watch(320, 5, "c")
    #expect(self.work(number: 1, at: 0).made.sorted() == [78, 80, 320, 640])
    withExtendedLifetime((hostile, own, narrow)) {}
  }

  @Test mutating func `viewers with the same parameters cost one file per frame, at their rate`() {
    for _ in 0..<5 {
      let viewer = Self.viewer().viewer
      #expect(self.requests.addViewer(width: 320, frameRate: 10, at: self.time(0), viewer) != nil)
    }
    #expect(self.requests.statistics.viewers == 5)
    // Three seconds at 25 frames per second; the thread checks every millisecond.
    let made = (0..<3000).reduce(0) { $0 + self.work(number: Int($1 / 40) + 1, at: Int64($1)).made.count }
    #expect((29...31).contains(made))
    #expect(self.requests.statistics.imagesEncoded == made)
  }

  @Test mutating func `a viewer faster than the source gets each frame once`() {
    let viewer = Self.viewer().viewer
    _ = self.requests.addViewer(width: 320, frameRate: 30, at: self.time(0), viewer)
    let made = (0..<2000).reduce(0) { $0 + self.work(number: Int($1 / 200) + 1, at: Int64($1)).made.count }
    #expect(made == 10)
  }

  @Test mutating func `the ninth pair of width and rate is served with the nearest existing one`() {
    for number in 0..<20 {
      let viewer = Self.viewer().viewer
      _ = self.requests.addViewer(width: 100 + 20 * number, frameRate: 99, at: self.time(0), viewer)
    }
    #expect(self.requests.statistics.viewers == 20)
    #expect(self.work(number: 1, at: 0).made.sorted() == (0..<8).map { 100 + 20 * $0 })
  }

  @Test mutating func `a new viewer gets at once what the others see`() async throws {
    let first = Self.viewer().viewer
    _ = self.requests.addViewer(width: 320, frameRate: 1, at: self.time(0), first)
    _ = self.work(number: 7, at: 0)
    let (files, second) = Self.viewer()
    _ = self.requests.addViewer(width: 320, frameRate: 1, at: self.time(10), second)
    second.finish()
    var iterator = files.makeAsyncIterator()
    #expect(await iterator.next() == ByteBuffer(integer: 7))
  }

  @Test mutating func `when the last viewer leaves encoding stops, and the thread ends ten seconds later`() {
    let viewer = Self.viewer().viewer
    let number = self.requests.addViewer(width: 320, frameRate: 10, at: self.time(0), viewer)
    let needed = [self.requests.needsThread(), self.requests.needsThread()]
    #expect(needed == [true, false])
    _ = self.work(number: 1, at: 0)
    self.requests.removeViewer(number ?? 0)
    self.requests.removeViewer(number ?? 0)
    #expect(self.requests.statistics.viewers == 0)
    guard case .wait(let end?) = self.requests.nextStep(at: self.time(500)) else {
      Issue.record("it does not wait")
      return
    }
    #expect(end == self.time(10_000))
    guard case .end = self.requests.nextStep(at: end) else {
      Issue.record("it does not end")
      return
    }
    let idle = self.requests.needsThread()
    _ = self.snapshot(width: 320, at: 20_000)
    let neededAgain = self.requests.needsThread()
    #expect(!idle && neededAgain)
  }

  @Test mutating func `an image from before frames became private answers no request of a stream that has ended`() {
    _ = self.snapshot(width: nil, at: 0)
    self.show(1, at: self.time(1))
    guard case .encode(let frame, let jobs) = self.requests.nextStep(at: self.time(1)), let job = jobs.first else {
      Issue.record("nothing is encoded")
      return
    }
    self.requests.discardEarlier(to: 1)
    _ = self.requests.end()
    var answer = SnapshotRequests.Answer.success(ByteBuffer(integer: 1))
    #expect(self.requests.finish(job, of: frame, &answer)?.viewers.isEmpty == true)
    #expect(throws: VidiconError.streamHasNoFrame) { try answer.get() }
  }

  @Test mutating func `a frame from before frames became private answers no request, which stays`() {
    _ = self.snapshot(width: 320, at: 0)
    guard case .ask = self.requests.nextStep(at: self.time(0)) else {
      Issue.record("it asks for no frame")
      return
    }
    self.requests.discardEarlier(to: 1)
    guard case .ask = self.requests.nextStep(at: self.time(1)) else {
      Issue.record("it does not ask again")
      return
    }
    self.show(1, at: self.time(2))
    #expect(self.requests.isAsked)
    self.show(2, generation: 1, at: self.time(3))
    #expect(!self.requests.isAsked)
    guard case .encode(let output, _) = self.requests.nextStep(at: self.time(3)) else {
      Issue.record("nothing is encoded")
      return
    }
    #expect(output.number == 2)
  }

  @Test mutating func `after encoding a frame's files the thread rests for the same time`() {
    _ = self.snapshot(width: 320, at: 0)
    _ = self.work(number: 1, at: 0)
    self.requests.rest(from: self.time(0), to: self.time(30))
    _ = self.snapshot(width: 640, at: 31)
    #expect(self.work(number: 2, at: 59).made.isEmpty)
    #expect(self.work(number: 2, at: 60).made == [640])
    #expect(self.requests.statistics.encodeTime == .milliseconds(30))
  }

  @Test mutating func `at the end all waiting requests are answered, and new ones are refused`() {
    _ = self.snapshot(width: 320, at: 0)
    let viewer = Self.viewer().viewer
    _ = self.requests.addViewer(width: 320, frameRate: 10, at: self.time(0), viewer)
    let (snapshots, viewers) = self.requests.end()
    #expect(snapshots.count == 1 && viewers.count == 1)
    #expect(self.snapshot(width: 320, at: 1) == .failure(VidiconError.streamHasNoFrame))
    #expect(self.requests.addViewer(width: 320, frameRate: 10, at: self.time(1), viewer) == nil)
    guard case .end = self.requests.nextStep(at: self.time(1)) else {
      Issue.record("the thread does not end")
      return
    }
  }
}
