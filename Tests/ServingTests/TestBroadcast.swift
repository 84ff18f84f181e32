import Authentication
import Media
import NIOCore
import NIOEmbedded
import Serving
import Synchronization

/// Makes a packet of each sample; samples without payload are malformed.
struct TestPacketizer: SharedMediaPacketizer {
  /// Number of packetized samples, malformed ones among them.
  var sampleCount = 0

  mutating func packets(of sample: EncodedSample) -> [TestPackets] {
    self.sampleCount += 1
    return sample.payload.readableBytes == 0 ? [] : [TestPackets(sample.kind, isKeyframe: sample.isKeyframe)]
  }
}

/// A viewer that keeps what it is sent.
final class TestViewer {
  let name: String
  var received: [SharedDelivery<TestPackets>] = []

  init(_ name: String) {
    self.name = name
  }

  /// One letter for each packet: "k" a keyframe, "v" another frame, "a" audio.
  var text: String {
    self.received.map { delivery in
      String(repeating: "a", count: delivery.audio.count) + (delivery.video.map { $0.isKeyframe ? "k" : "v" } ?? "")
    }.joined(separator: " ")
  }
}

/// Sends all deliveries to all viewers, and keeps the order of each call.
final class TestSender: DeliverySender {
  private(set) var calls: [[String]] = []
  private(set) var left: [String] = []

  func send(
    _ deliveries: [SharedDelivery<TestPackets>], to viewers: [ArraySlice<TestViewer>], at now: MediaTime
  ) -> Int {
    self.calls.append(viewers.joined().map(\.name))
    for viewer in viewers.joined() { viewer.received += deliveries }
    return viewers.joined().count * deliveries.reduce(0) { $0 + $1.byteCount }
  }

  func viewerLeft(_ viewer: TestViewer) {
    self.left.append(viewer.name)
  }
}

/// A broadcast at 25 frames per second on one event loop in virtual time.
final class TestBroadcast {
  let loop = EmbeddedEventLoop()
  let refusals = RefusalCounters()
  let counters: ViewerCounters
  let broadcast: Broadcast<TestPacketizer, TestSender>
  private let requests: KeyframeRequestCount

  private final class KeyframeRequestCount: Sendable {
    let count = Atomic(0)
  }

  init(keepsKeyframeGroup: Bool = true) {
    let requests = KeyframeRequestCount()
    self.requests = requests
    self.counters = ViewerCounters(refusals: self.refusals)
    self.broadcast = Broadcast(
      packetizer: TestPacketizer(), frameRate: 25, eventLoops: [self.loop], counters: self.counters,
      keepsKeyframeGroup: keepsKeyframeGroup, makeSender: { _ in TestSender() },
      requestKeyframe: { requests.count.add(1, ordering: .relaxed) })
  }

  var group: ViewerGroup<TestSender> { self.broadcast.group(on: self.loop) }
  var keyframeRequests: Int { self.requests.count.load(ordering: .relaxed) }
  var sampleCount: Int { self.broadcast.withPacketizer { $0.sampleCount } }

  /// Adds a viewer.
  func join(_ name: String) -> TestViewer {
    let viewer = TestViewer(name)
    self.group.add(viewer)
    return viewer
  }

  /// Consumes a sample for each letter: "k" a keyframe, "v" another frame, "a" audio, "x" a malformed frame.
  func consume(_ letters: String) {
    for letter in letters {
      self.broadcast.consume(
        EncodedSample(
          kind: letter == "a" ? .audio : .video, payload: ByteBuffer(string: letter == "x" ? "" : "payload"),
          presentationTime: .zero, duration: .milliseconds(20), isKeyframe: letter == "k"))
    }
  }

  /// Lets virtual time pass, and runs the event loop.
  func advance(milliseconds: Int64 = 0) {
    self.loop.advanceTime(by: .milliseconds(milliseconds))
  }

  /// The deliveries that a viewer can start with, in letters.
  var start: String? {
    self.broadcast.deliveriesSinceKeyframe().map { deliveries in
      let viewer = TestViewer("")
      viewer.received = deliveries
      return viewer.text
    }
  }
}
