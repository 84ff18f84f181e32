import Authentication
import Media
import Serving
import Synchronization
import Testing

@Suite("Samples that are fanned out to viewers")
struct BroadcastTests {
  @Test func `without viewers nothing is packetized until one starts with the last keyframe`() {
    let test = TestBroadcast()
    test.consume("vvkvakva")
    #expect(test.sampleCount == 0 && !test.broadcast.hasViewers)
    #expect(test.start == "k v a")
    #expect(test.sampleCount == 3)
    // They are packetized once, and later samples follow them.
    test.consume("v")
    #expect(test.start == "k v a v")
    #expect(test.sampleCount == 4)
  }

  @Test func `without a keyframe group nothing is kept for the next viewer`() {
    let test = TestBroadcast(keepsKeyframeGroup: false)
    test.consume("kvv")
    #expect(test.start == nil && test.sampleCount == 0)
  }

  @Test func `a viewer that joins is sent the deliveries after those it has started with`() throws {
    let test = TestBroadcast()
    test.consume("kv")
    let viewer = test.join("a")
    let start = try #require(test.broadcast.deliveriesSinceKeyframe())
    test.consume("vkv")
    test.advance()
    #expect(viewer.text == "v k v")
    #expect((start + viewer.received).map(\.number) == [1, 2, 3, 4, 5])
  }

  @Test func `a keyframe group whose last sample is more than two seconds old is not started with`() {
    let test = TestBroadcast()
    test.consume("kv")
    test.advance(milliseconds: 2000)
    #expect(test.start == "k v")
    test.advance(milliseconds: 1)
    #expect(test.start == nil)
    test.consume("v")
    #expect(test.start == "k v v", "the source goes on")
  }

  @Test func `parameter sets that change end the keyframe group`() {
    let test = TestBroadcast()
    test.consume("kv")
    test.broadcast.change { $0.sampleCount = 100 }
    test.consume("v")
    #expect(test.start == nil && test.sampleCount == 100)
    test.consume("k")
    #expect(test.start == "k" && test.sampleCount == 101)
  }

  @Test func `audio leaves with the next access unit, or after a frame interval`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("kaav")
    test.advance()
    #expect(viewer.text == "k aav")
    test.consume("a")
    test.advance(milliseconds: 39)
    #expect(viewer.text == "k aav")
    test.advance(milliseconds: 1)
    #expect(viewer.text == "k aav a")
  }

  @Test func `audio that waits leaves at the end of the stream`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("ka")
    test.broadcast.flush()
    test.broadcast.flush()
    test.advance()
    #expect(viewer.text == "k a")
  }

  @Test func `at the end of the stream a backlog is sent before what follows the end`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("kvvvvvvvva")
    test.broadcast.flush()
    test.broadcast.forEachGroup { $0.remove($0.viewers[0]) }
    test.advance()
    #expect(viewer.text == "k v v v v v v v v a" && !test.broadcast.hasViewers)
    // The group's turn that was scheduled before finds nothing, and the next one is not lost.
    let next = test.join("b")
    test.advance(milliseconds: 1)
    test.consume("v")
    test.advance()
    #expect(next.text == "v")
  }

  @Test func `a malformed sample is sent to no viewer, and the next one is`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("kxv")
    test.advance()
    #expect(viewer.text == "k v" && viewer.received.map(\.number) == [1, 2])
    #expect(test.keyframeRequests == 0)
  }

  @Test func `all that waits for an event loop is one call of its sender`() {
    let test = TestBroadcast()
    let viewers = [test.join("a"), test.join("b")]
    test.consume("kvvv")
    test.advance()
    #expect(test.group.sender.calls.count == 1 && viewers.allSatisfy { $0.text == "k v v v" })
    #expect(test.counters.bytesSent.load(ordering: .relaxed) == 8)
  }

  @Test func `an event loop that takes nothing for two seconds of frames loses them, and a keyframe is requested`() {
    let test = TestBroadcast()
    let viewers = [test.join("a"), test.join("b")]
    let capacity = DeliveryQueue<TestPackets>.capacity
    test.consume("k" + String(repeating: "v", count: capacity - 1))
    #expect(test.keyframeRequests == 0)
    test.consume("v")
    #expect(test.keyframeRequests == 1)
    test.consume("vv")
    #expect(test.keyframeRequests == 1, "once for each overflow")
    test.consume("kv")
    test.advance()
    #expect(viewers.map(\.text) == ["k v", "k v"])
    #expect(test.counters.framesSkipped.load(ordering: .relaxed) == 2 * (capacity + 3))
  }

  @Test func `video that waits when it must not be shown any more is dropped, and audio is sent`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("kav")
    test.broadcast.discardEarlier { $0.viewers.forEach { $0.received.removeAll() } }
    test.consume("k")
    test.advance()
    #expect(test.start == "k")
    #expect(viewer.received.allSatisfy { $0.video == nil || $0.discards == 1 }, "\(viewer.text)")
    test.consume("v")
    test.advance()
    #expect(viewer.text.hasSuffix("v"))
  }
}
