import Media
import NIOCore
import Testing

@testable import Recording

@Suite("Queue before the disk")
struct RecordingQueueTests {
  private let script = StreamScript(keyframeDistance: 10, pictureLength: 1000)

  private func numbers(_ items: [RecordingQueue.Item]) -> [Int64?] {
    items.compactMap {
      switch $0 {
      case .sample(let sample) where sample.kind == .video: .some(sample.payload.getInteger(at: 0, as: Int64.self))
      case .gap: .some(nil)
      default: nil
      }
    }
  }

  @Test func `when it is full it drops up to the next keyframe, once half of it is free again`() {
    let queue = RecordingQueue(limit: 25_600, hasVideo: true)
    for index in 0..<35 { queue.append(self.script.picture(Int64(index))) }
    // Each takes 1000 and 256 bytes.
    #expect(queue.counts.byteCount == 20 * 1256)
    #expect(queue.counts.videoSamplesDropped == 15)
    let items = queue.take(until: .zero)
    #expect(self.numbers(items) == (0..<20).map { $0 } + [nil])
    queue.append(self.script.picture(40))
    #expect(queue.counts.videoSamplesDropped == 16, "what was taken is not written yet")
    queue.release(items)
    for index in 41..<55 { queue.append(self.script.picture(Int64(index))) }
    #expect(self.numbers(queue.take(until: .zero)) == (50..<55).map { $0 })
    #expect(queue.counts.videoSamplesDropped == 25)
  }

  @Test func `commands are never dropped, and a closed queue takes nothing`() {
    let queue = RecordingQueue(limit: 100, hasVideo: true)
    queue.append(self.script.picture(0))
    queue.append(.pause(.zero))
    #expect(queue.take(until: .zero).count == 2)
    queue.close()
    queue.append(self.script.picture(10))
    queue.append(.end)
    #expect(queue.take(until: .zero).isEmpty)
  }
}
