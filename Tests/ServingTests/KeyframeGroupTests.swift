import Media
import NIOCore
import Serving
import Testing

@Suite("Samples since the last keyframe")
struct KeyframeGroupTests {
  private func delivery(_ number: Int, isKeyframe: Bool = false) -> SharedDelivery<TestPackets> {
    SharedDelivery(number: number, audio: [], video: TestPackets(.video, isKeyframe: isKeyframe))
  }

  private func sample(_ length: Int, kind: MediaKind = .video, isKeyframe: Bool = false) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: ByteBuffer(repeating: 0, count: length), presentationTime: .zero, duration: .zero,
      isKeyframe: isKeyframe)
  }

  @Test func `a group begins with a keyframe, and the next one begins another`() {
    var group = KeyframeGroup<TestPackets>()
    group.append(self.delivery(1), at: time(0))
    #expect(group.deliveries(at: time(0)) == nil)
    for number in 2...4 { group.append(self.delivery(number, isKeyframe: number == 2), at: time(1)) }
    #expect(group.deliveries(at: time(1))?.map(\.number) == [2, 3, 4])
    group.append(self.delivery(5, isKeyframe: true), at: time(2))
    #expect(group.deliveries(at: time(2))?.map(\.number) == [5])
  }

  @Test func `audio that is marked as a keyframe begins no group`() {
    var group = KeyframeGroup<TestPackets>()
    group.append(self.sample(10, kind: .audio, isKeyframe: true), at: time(0))
    #expect(group.takeSamples().isEmpty)
    group.append(self.sample(10, isKeyframe: true), at: time(0))
    group.append(self.sample(20, kind: .audio, isKeyframe: true), at: time(0))
    #expect(group.takeSamples().map(\.payload.readableBytes) == [10, 20])
    #expect(group.takeSamples().isEmpty)
  }

  @Test func `a group above its maximum is dropped up to the next keyframe`() {
    var group = KeyframeGroup<TestPackets>()
    let half = KeyframeGroup<TestPackets>.maximumByteCount / 2
    group.append(self.sample(half, isKeyframe: true), at: time(0))
    group.append(self.sample(half), at: time(1))
    #expect(group.takeSamples().count == 2, "the maximum is allowed")
    group.append(self.sample(half, isKeyframe: true), at: time(2))
    group.append(self.sample(half), at: time(3))
    group.append(self.sample(1), at: time(4))
    group.append(self.sample(1), at: time(5))
    #expect(group.takeSamples().isEmpty)
    group.append(self.sample(1, isKeyframe: true), at: time(6))
    #expect(group.takeSamples().count == 1)
  }

  @Test func `samples that are taken make room`() {
    var group = KeyframeGroup<TestPackets>()
    let maximum = KeyframeGroup<TestPackets>.maximumByteCount
    group.append(self.sample(maximum, isKeyframe: true), at: time(0))
    #expect(group.takeSamples().count == 1)
    group.append(self.sample(maximum), at: time(1))
    #expect(group.takeSamples().count == 1)
  }

  @Test func `a group can be started with for two seconds after its last sample`() {
    var group = KeyframeGroup<TestPackets>()
    group.append(self.delivery(1, isKeyframe: true), at: time(0))
    group.append(self.delivery(2), at: time(1500))
    #expect(group.lastTime == time(1500))
    #expect(group.deliveries(at: time(3500))?.count == 2)
    #expect(group.deliveries(at: time(3501)) == nil)
    group.removeAll()
    #expect(group.deliveries(at: time(1500)) == nil)
    group.append(self.delivery(3), at: time(1501))
    #expect(group.deliveries(at: time(1501)) == nil, "nothing is kept up to the next keyframe")
  }
}
