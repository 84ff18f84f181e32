import Authentication
import Media
import NIOCore
import NIOEmbedded
import Serving
import Synchronization
import Testing

@Suite("The viewers of an event loop")
struct ViewerGroupTests {
  @Test func `a viewer is in the group once, and is counted once`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    #expect(!test.group.add(viewer))
    #expect(test.group.viewers.count == 1 && test.counters.viewers.load(ordering: .relaxed) == 1)
    #expect(test.group.remove(viewer))
    #expect(!test.group.remove(viewer))
    #expect(!test.group.hasViewers && test.counters.viewers.load(ordering: .relaxed) == 0)
    #expect(test.group.sender.left == ["a"], "the sender drops its packets once")
  }

  @Test func `another viewer is the first of each call`() {
    let test = TestBroadcast()
    let viewers = ["a", "b", "c"].map(test.join)
    for letter in ["k", "v", "v", "v"] {
      test.consume(letter)
      test.advance()
    }
    #expect(test.group.sender.calls == [["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"], ["b", "c", "a"]])
    #expect(viewers.allSatisfy { $0.text == "k v v v" })
  }

  @Test func `the turn of viewers goes on when the last of them leaves`() {
    let test = TestBroadcast()
    let viewers = ["a", "b", "c"].map(test.join)
    for letter in ["k", "v"] {
      test.consume(letter)
      test.advance()
    }
    for viewer in viewers.dropFirst() { test.group.remove(viewer) }
    test.consume("v")
    test.advance()
    #expect(test.group.sender.calls.last == ["a"])
    #expect(viewers.map(\.text) == ["k v v", "k v", "k v"])
  }

  @Test func `what waits when the last viewer leaves is sent to no viewer`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("k")
    test.group.remove(viewer)
    test.advance()
    #expect(viewer.text == "" && test.counters.bytesSent.load(ordering: .relaxed) == 0)
    let next = test.join("b")
    test.consume("v")
    test.advance()
    #expect(next.text == "v")
  }

  @Test func `a backlog is sent in turns of four deliveries, between which other tasks of the event loop run`() {
    let test = TestBroadcast()
    let viewer = test.join("a")
    test.consume("kvvvvvvvvv")
    test.advance()
    #expect(viewer.text == "k v v v")
    test.consume("k")
    test.loop.advanceTime(by: .microseconds(49))
    #expect(viewer.text == "k v v v", "the loop serves its sockets")
    test.loop.advanceTime(by: .microseconds(1))
    #expect(viewer.text == "k v v v v v v v")
    test.loop.advanceTime(by: .microseconds(50))
    #expect(viewer.text == "k v v v v v v v v v k")
    #expect(test.group.sender.calls.count == 3)
    test.consume("v")
    test.advance()
    #expect(viewer.text.hasSuffix("k v"), "after the backlog nothing waits")
  }

  @Test func `the groups of an event loop take turns, and those of another one have turns of their own`() {
    let test = TestBroadcast()
    let other = ViewerGroup(eventLoop: test.loop, counters: test.counters, sender: TestSender())
    let third = TestBroadcast()
    let (viewer, second, elsewhere) = (test.join("a"), TestViewer("b"), third.join("c"))
    other.add(second)
    test.consume("kvvvv")
    _ = other.enqueue(SharedDelivery(number: 1, audio: [], video: TestPackets(.video, isKeyframe: true)))
    third.consume("k")
    test.advance()
    third.advance()
    #expect(viewer.text == "k v v v" && second.text == "" && elsewhere.text == "k")
    test.loop.advanceTime(by: .microseconds(50))
    #expect(viewer.text == "k v v v" + " v" && second.text == "k")
  }

  @Test func `viewers that are closed as slow, and lost datagrams, are counted for the stream and the server`() {
    let test = TestBroadcast()
    test.counters.countSlowViewer()
    test.counters.countDroppedDatagrams(3)
    test.counters.countDroppedDatagrams(2)
    #expect(test.counters.viewersClosedAsSlow.load(ordering: .relaxed) == 1)
    #expect(test.counters.datagramsDropped.load(ordering: .relaxed) == 5)
    #expect(test.refusals[.slowViewer] == 1 && test.refusals[.datagramDropped] == 5)
  }
}
