import Media
import Serving
import Testing

@Suite("The bounded queue between a stream and an event loop")
struct DeliveryQueueTests {
  private func frame(isKeyframe: Bool = false, audio: Bool = false) -> SharedDelivery<TestPackets> {
    SharedDelivery(
      number: 1, audio: audio ? [TestPackets(.audio)] : [],
      video: TestPackets(.video, isKeyframe: isKeyframe))
  }

  @Test func `the event loop is woken up once for all that it has not taken`() {
    var queue = DeliveryQueue<TestPackets>()
    #expect(queue.append(self.frame(), at: time(0)).needsWakeUp)
    #expect(!queue.append(self.frame(), at: time(1)).needsWakeUp)
    #expect(queue.take(at: time(2)).deliveries.count == 2)
    #expect(queue.take(at: time(2)).deliveries.isEmpty)
    #expect(queue.append(self.frame(), at: time(3)).needsWakeUp)
  }

  @Test func `the event loop takes the oldest of a backlog, and is woken up again when it has taken everything`() {
    var queue = DeliveryQueue<TestPackets>()
    for number in 1...9 {
      _ = queue.append(SharedDelivery(number: number, audio: [], video: TestPackets(.video)), at: time(0))
    }
    for (numbers, hasMore) in [([1, 2, 3, 4], true), ([5, 6, 7, 8], true), ([9], false)] {
      let taken = queue.take(at: time(1))
      #expect(taken.deliveries.map(\.number) == numbers && taken.hasMore == hasMore)
    }
    #expect(queue.append(self.frame(), at: time(2)).needsWakeUp)
    for _ in 0..<4 { #expect(!queue.append(self.frame(), at: time(2)).needsWakeUp) }
    #expect(queue.take(at: time(3)).hasMore)
    #expect(!queue.append(self.frame(), at: time(3)).needsWakeUp, "the turn that follows takes it")
  }

  @Test func `a full queue drops all frames up to the next keyframe and counts them, audio goes on`() {
    var queue = DeliveryQueue<TestPackets>()
    for _ in 0..<DeliveryQueue<TestPackets>.capacity { _ = queue.append(self.frame(), at: time(0)) }
    let overflow = queue.append(self.frame(audio: true), at: time(1))
    #expect(overflow.droppedFrames == DeliveryQueue<TestPackets>.capacity + 1)
    #expect(overflow.needsKeyframe && !overflow.needsWakeUp)
    let dropped = queue.append(self.frame(), at: time(2))
    #expect(dropped.droppedFrames == 1 && !dropped.needsKeyframe)
    #expect(queue.append(self.frame(isKeyframe: true), at: time(3)).droppedFrames == 0)
    #expect(queue.append(self.frame(), at: time(4)).droppedFrames == 0)
    let taken = queue.take(at: time(5)).deliveries
    #expect(taken.map { $0.video != nil } == [false, true, true])
    #expect(taken.map { $0.audio.count } == [1, 0, 0])
  }

  @Test func `the maximum lag is kept for ten to twenty seconds`() {
    var queue = DeliveryQueue<TestPackets>()
    _ = queue.append(self.frame(), at: time(11_000))
    _ = queue.append(self.frame(), at: time(11_100))
    #expect(queue.maximumLag(at: time(11_050)) == .milliseconds(50))
    _ = queue.take(at: time(11_140))
    _ = queue.append(self.frame(), at: time(12_000))
    _ = queue.take(at: time(12_003))
    #expect(queue.maximumLag(at: time(21_000)) == .milliseconds(140))
    #expect(queue.maximumLag(at: time(21_051)) == .milliseconds(140))
    #expect(queue.maximumLag(at: time(31_051)) == .zero)
  }

  @Test func `the lag of an event loop that takes nothing grows`() {
    var queue = DeliveryQueue<TestPackets>()
    _ = queue.append(self.frame(), at: time(0))
    #expect(queue.maximumLag(at: time(2_000)) == .seconds(2))
  }

  @Test func `a queue without deliveries for a long time has no lag`() {
    var queue = DeliveryQueue<TestPackets>()
    _ = queue.append(self.frame(), at: time(0))
    _ = queue.take(at: time(100))
    #expect(queue.maximumLag(at: time(60_000)) == .zero)
  }
}
