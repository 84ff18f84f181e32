import Media
import NIOCore
import Testing

@testable import Recording

@Suite("Recording queue")
struct RecordingQueueTests {
  private let script = StreamScript(keyframeDistance: 10, frameByteCount: 1000)

  private func numbers(_ items: [RecordingQueue.Item]) -> [Int64?] {
    items.compactMap {
      switch $0 {
      case .sample(let sample) where sample.kind == .video: .some(sample.payload.getInteger(at: 0, as: Int64.self))
      case .gap: .some(nil)
      default: nil
      }
    }
  }

  @Test func `a full queue drops samples until half of it is free, then until the next keyframe`() {
    let queue = RecordingQueue(limit: 25_600, hasVideo: true)
    for index in 0..<35 { queue.append(self.script.videoFrame(Int64(index))) }
    // Each sample counts 1000 bytes of payload and 256 bytes of overhead.
    #expect(queue.counts.byteCount == 20 * 1256)
    #expect(queue.counts.videoSamplesDropped == 15)
    let items = queue.take(until: .zero)
    #expect(self.numbers(items) == (0..<20).map { $0 } + [nil])
    queue.append(self.script.videoFrame(40))
    #expect(queue.counts.videoSamplesDropped == 16, "what was taken is not written yet")
    queue.release(items)
    for index in 41..<55 { queue.append(self.script.videoFrame(Int64(index))) }
    #expect(self.numbers(queue.take(until: .zero)) == (50..<55).map { $0 })
    #expect(queue.counts.videoSamplesDropped == 25)
  }

  @Test func `commands are never dropped, and a closed queue accepts nothing`() {
    let queue = RecordingQueue(limit: 100, hasVideo: true)
    queue.append(self.script.videoFrame(0))
    queue.append(.pause(.zero))
    #expect(queue.take(until: .zero).count == 2)
    queue.close()
    queue.append(self.script.videoFrame(10))
    queue.append(.end)
    #expect(queue.take(until: .zero).isEmpty)
  }
}
