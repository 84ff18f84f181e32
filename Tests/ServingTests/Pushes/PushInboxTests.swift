import Media
import NIOCore
import Synchronization
import Testing

@testable import Serving

@Suite("Queue from a stream to a push")
struct PushInboxTests {
  private final class Wakes: Sendable {
    let count = Atomic(0)
  }

  private let wakes = Wakes()

  private func inbox() -> PushInbox {
    let inbox = PushInbox { [wakes] in wakes.count.add(1, ordering: .relaxed) }
    inbox.isConnected = true
    return inbox
  }

  private static func sample(_ kind: MediaKind, _ index: Int64, isKeyframe: Bool = false) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: ByteBuffer(), presentationTime: MediaTime(nanoseconds: index), duration: .zero,
      isKeyframe: isKeyframe)
  }

  private static func times(_ items: [PushInbox.Item]) -> [Int64] {
    items.compactMap { if case .sample(let sample, _) = $0 { sample.presentationTime.nanoseconds } else { nil } }
  }

  @Test func `samples keep their order, and one wake-up is pending at a time`() {
    let inbox = self.inbox()
    for index in 0..<10 { inbox.append(.sample(Self.sample(.audio, Int64(index)), from: 0)) }
    #expect(self.wakes.count.load(ordering: .relaxed) == 1)
    #expect(Self.times(inbox.dequeueAll()) == Array(0..<10))
    inbox.append(.sample(Self.sample(.audio, 10), from: 0))
    #expect(self.wakes.count.load(ordering: .relaxed) == 2)
  }

  @Test func `nothing is kept while the push is not connected, but descriptions are`() {
    let inbox = self.inbox()
    inbox.isConnected = false
    inbox.append(.sample(Self.sample(.video, 0, isKeyframe: true), from: 0))
    inbox.append(
      .description(
        .aac(AACDescription(audioSpecificConfig: [], format: AudioFormat(sampleRate: 48_000, channelCount: 2))), of: 0))
    #expect(inbox.dequeueAll().count == 1)
  }

  @Test func `a loop that stands still costs bounded memory, and video goes on with a keyframe`() {
    let inbox = self.inbox()
    for index in 0..<1000 { inbox.append(.sample(Self.sample(.video, Int64(index), isKeyframe: index == 0), from: 0)) }
    #expect(inbox.dequeueAll().count <= PushInbox.capacity)
    inbox.append(.sample(Self.sample(.video, 1000), from: 0))
    inbox.append(.sample(Self.sample(.audio, 1001), from: 0))
    inbox.append(.sample(Self.sample(.video, 1002, isKeyframe: true), from: 0))
    inbox.append(.sample(Self.sample(.video, 1003), from: 0))
    #expect(Self.times(inbox.dequeueAll()) == [1001, 1002, 1003])
    #expect(inbox.droppedFrames == 1001)
  }

  @Test func `once faces are private nothing earlier is left, and what was taken is marked`() {
    let inbox = self.inbox()
    inbox.append(.sample(Self.sample(.video, 0, isKeyframe: true), from: 0))
    inbox.append(.discardEarlier)
    #expect(inbox.isDiscardPending)
    inbox.append(.sample(Self.sample(.video, 1, isKeyframe: true), from: 0))
    let items = inbox.dequeueAll()
    #expect(Self.times(items) == [1])
    guard case .discardEarlier = items.first else {
      Issue.record("samples precede the mark")
      return
    }
    inbox.discarded()
    #expect(!inbox.isDiscardPending)
  }
}
