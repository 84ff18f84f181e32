import Capture
import Media
import NIOCore
import Testing

@testable import Streaming

@Suite("Video input queue: switches of the source")
struct VideoInputQueueTests {
  private let queue = VideoInputQueue()
  private let buffer = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private static let description = CodecDescription.h264(
    H264Description(sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 16, height: 16, frameRate: 25))

  private func feed() -> VideoFeed { VideoFeed(capturer: ScriptedVideoCapturer(), inputQueue: self.queue) }

  private func frame(_ number: Int64, of feed: VideoFeed) -> SourceFrame {
    SourceFrame(
      frame: VideoFrame(buffer: self.buffer, timestamp: .zero + .milliseconds(number)), colorMatrix: .bt601, feed: feed)
  }

  private func sample(_ number: Int64, of feed: VideoFeed) -> SourceSample {
    SourceSample(
      sample: EncodedSample(
        kind: .video, payload: ByteBuffer(bytes: [0]), presentationTime: .zero + .milliseconds(number),
        duration: .milliseconds(40), isKeyframe: true), description: Self.description, feed: feed)
  }

  /// Dequeues all items, as numbers; those of samples are negative.
  private func dequeue() -> [Int64] {
    var numbers: [Int64] = []
    while let event = self.queue.next(until: .zero) {
      switch event {
      case .frame(let frame): numbers.append((frame.frame.timestamp - MediaTime.zero).nanoseconds / 1_000_000)
      case .sample(let sample, _):
        numbers.append(-(sample.sample.presentationTime - MediaTime.zero).nanoseconds / 1_000_000)
      default: return numbers
      }
    }
    return numbers
  }

  @Test func `a switch between frames and access units loses none that wait, in both directions`() {
    let (camera, network) = (self.feed(), self.feed())
    self.queue.withSlot { $0.connect(camera) }
    for number in 1...3 as ClosedRange<Int64> { #expect(self.queue.consume(self.frame(number, of: camera)).isEmpty) }
    #expect(self.queue.withSlot { $0.admit(network) })
    for number in 4...5 as ClosedRange<Int64> { #expect(self.queue.consume(self.sample(number, of: network)).isEmpty) }
    #expect(self.queue.cut(to: network))
    #expect(self.queue.consume(self.sample(6, of: network)).isEmpty)
    #expect(self.queue.counts.queued == 6)
    #expect(self.dequeue() == [1, 2, 3, -4, -5, -6])

    for number in 7...8 as ClosedRange<Int64> { #expect(self.queue.consume(self.sample(number, of: network)).isEmpty) }
    #expect(self.queue.withSlot { $0.admit(camera) })
    #expect(self.queue.consume(self.frame(9, of: camera)).isEmpty)
    #expect(self.queue.cut(to: camera))
    #expect(self.queue.consume(self.frame(10, of: camera)).isEmpty)
    #expect(self.dequeue() == [-7, -8, 9, 10])
    #expect(self.queue.counts.drops.isEmpty && self.queue.counts.queued == 0)
  }

  @Test func `of a waiting source's frames the last one is kept, and of its access units all`() {
    let (camera, other) = (self.feed(), self.feed())
    self.queue.withSlot { $0.connect(camera) }
    #expect(self.queue.withSlot { $0.admit(other) })
    for number in 1...3 as ClosedRange<Int64> { _ = self.queue.consume(self.frame(number, of: other)) }
    #expect(self.queue.counts.drops == [.late: 2] && self.queue.counts.queued == 0)
    #expect(self.queue.cut(to: other))
    #expect(self.dequeue() == [3])
    #expect(self.queue.withSlot { $0.waitingItems.isEmpty })

    let network = self.feed()
    #expect(self.queue.withSlot { $0.admit(network) })
    for number in 4...6 as ClosedRange<Int64> { #expect(self.queue.consume(self.sample(number, of: network)).isEmpty) }
    #expect(self.queue.cut(to: network))
    #expect(self.dequeue() == [-4, -5, -6])
    #expect(self.queue.counts.drops == [.late: 2])
  }

  @Test func `a source that is given up leaves nothing to the next one that waits`() {
    let (camera, first, second) = (self.feed(), self.feed(), self.feed())
    self.queue.withSlot { $0.connect(camera) }
    #expect(self.queue.withSlot { $0.admit(first) })
    #expect(self.queue.consume(self.sample(1, of: first)).isEmpty)
    self.queue.withSlot { $0.withdraw(first) }
    #expect(self.queue.consume(self.sample(2, of: first)).map(\.reason) == [.stopped])
    #expect(self.queue.withSlot { $0.admit(second) && $0.waitingItems.isEmpty })
    #expect(self.queue.consume(self.sample(3, of: second)).isEmpty)
    #expect(self.queue.cut(to: second))
    #expect(self.dequeue() == [-3])
  }

  @Test func `where the pipeline is too slow a switch does not wait for the previous source`() {
    let (network, camera) = (self.feed(), self.feed())
    self.queue.withSlot { $0.connect(network) }
    for number in 1...5 as ClosedRange<Int64> { #expect(self.queue.consume(self.sample(number, of: network)).isEmpty) }
    #expect(self.queue.withSlot { $0.admit(camera) })
    #expect(self.queue.consume(self.frame(6, of: camera)).isEmpty)
    #expect(self.queue.cut(to: camera))
    #expect(self.dequeue() == [6])
    #expect(self.queue.counts.drops == [.late: 5])
  }
}
