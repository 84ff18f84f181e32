import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import Serving
import Streaming
import Testing
import WebRTC
import WebRTCPeers

@testable import WebRTCServer

/// A camera of 2.3 Mb/s with a smaller rendition, and browsers behind simulated paths, in virtual time.
private final class Camera {
  let server: EmbeddedHub
  private var frameCount = 0
  /// Keyframes that were requested until the last frame, by stream.
  private var asked: [ObjectIdentifier: Int] = [:]
  /// Keyframes of the main rendition, and its bytes.
  private(set) var keyframeCount = 0
  private(set) var byteCount = 0
  /// Encoder bitrates, by frame.
  private(set) var bitrates: [Int] = []
  /// Called before each frame.
  var beforeFrame: (Camera) throws -> Void = { _ in }

  init(hasLow: Bool = true, isHigh: (main: Bool, low: Bool) = (false, false)) throws {
    self.server = try EmbeddedHub(hasLow: hasLow, isHigh: isHigh)
  }

  var seconds: Double { self.server.hub.now.seconds }

  func run(seconds: Double) throws {
    for _ in 0..<Int(seconds * 30) {
      try self.beforeFrame(self)
      let bitrate = min(self.server.stream.videoBitrate, self.server.stream.viewerBitrate ?? .max)
      self.bitrates.append(bitrate)
      self.encode(bitrate: bitrate, self.server.output)
      let (low, transcodings) = (self.server.low, self.server.transcodings)
      let transcoded = min(2_300_000, self.server.transcodedStreams.main.viewerBitrate ?? .max)
      for (rendition, bitrate) in [(low, 450_000), (transcodings.main, transcoded), (transcodings.low, 450_000)] {
        if let rendition { self.encode(bitrate: bitrate, rendition) }
      }
      self.frameCount += 1
      try self.server.advance(.milliseconds(33))
    }
  }

  private func encode(bitrate: Int, _ output: WebRTCOutput) {
    let stream = output.stream
    let requests = stream.statistics.keyframeRequests
    let isAsked = requests > self.asked.updateValue(requests, forKey: ObjectIdentifier(stream)) ?? 0
    let isKeyframe = isAsked || self.frameCount % 60 == 0
    // A keyframe has 4 times the bytes of a frame.
    let length = bitrate / 8 / 30 * (isKeyframe ? 4 : 1) * 60 / (isKeyframe ? 60 : 63)
    if output === self.server.output {
      self.keyframeCount += isKeyframe ? 1 : 0
      self.byteCount += length
    }
    self.server.sendVideo(isKeyframe: isKeyframe, length: length, of: output)
  }

  func receiver(_ address: TransportAddress) throws -> SimulatedReceiver {
    try #require(self.server.receivers[address])
  }
}

@Suite("What viewers with different networks get")
struct ViewerAdaptationTests {
  private static func path(_ bitrate: Double, queue: Int = 100_000) -> SimulatedPath.Conditions {
    var conditions = SimulatedPath.Conditions()
    conditions.rates = [(0, bitrate)]
    conditions.queueLength = queue
    return conditions
  }

  @Test func `one slow viewer of ten is on the low rendition within five seconds, the nine keep every frame`() throws {
    let camera = try Camera()
    let quick = try (1...9).map { try camera.server.watch(UInt8($0), Self.path(20_000_000, queue: 500_000)) }
    let slow = try camera.server.watch(10, Self.path(800_000))
    try camera.run(seconds: 5)
    #expect(
      camera.server.low?.statistics.viewers == 1 && camera.server.output.statistics.viewers == 9)
    #expect(camera.server.stream.viewerBitrate == nil)
    try camera.run(seconds: 15)
    #expect(camera.server.low?.statistics.viewers == 1)
    for viewer in quick {
      let receiver = try camera.receiver(viewer)
      #expect(receiver.frames(2...19.5).count >= 525 && receiver.freezes(1...20) == [] && receiver.unorderedFrames == 0)
    }
    let receiver = try camera.receiver(slow)
    // Numbers and times go on: one stream of frames for its decoder.
    #expect(receiver.unorderedFrames == 0 && receiver.freezes(6...20) == [])
    #expect(receiver.frames(7...19).count >= 355 && receiver.arrivedBitrate(8...19) < 600_000)
    #expect(camera.keyframeCount <= 10 + 4)
    let list = camera.server.output.statistics.viewerList ?? []
    #expect(list.count == 10 && list.allSatisfy { $0.estimatedBitrate ?? 0 > 500_000 && $0.roundTrip != nil })
    #expect(list.allSatisfy { $0.queueingDelay != nil })
  }

  @Test func `a viewer whose network recovers is back on the main rendition, and stays there`() throws {
    let camera = try Camera()
    var conditions = Self.path(0)
    conditions.rates = [(0, 800_000), (15, 12_000_000)]
    let other = try camera.server.watch(1, Self.path(20_000_000, queue: 500_000))
    let viewer = try camera.server.watch(2, conditions)
    try camera.run(seconds: 14)
    #expect(camera.server.low?.statistics.viewers == 1)
    try camera.run(seconds: 31)
    #expect(
      camera.server.low?.statistics.viewers == 0 && camera.server.output.statistics.viewers == 2)
    let receiver = try camera.receiver(viewer)
    #expect(receiver.unorderedFrames == 0 && receiver.freezes(16...45) == [])
    #expect(receiver.arrivedBitrate(42...44) > 2_000_000)
    #expect(try camera.receiver(other).frames(2...44).count >= 1260)
  }

  @Test
  func
    `a viewer whose network falls below every rendition gets no frames that have waited, and those missed are counted`()
    throws
  {
    let camera = try Camera(hasLow: false)
    // With a viewer whose network is good, the bitrate follows neither.
    let quick = try camera.server.watch(1, Self.path(20_000_000, queue: 500_000))
    var conditions = Self.path(0, queue: 25_000)
    conditions.rates = [(0, 4_000_000), (5, 200_000)]
    let slow = try camera.server.watch(2, conditions)
    try camera.run(seconds: 30)
    let receiver = try camera.receiver(slow)
    let first = try #require(receiver.shown.first)
    let delays = receiver.frames(6...29).map { frame in
      (frame.time - first.time).seconds - Double(Int32(bitPattern: frame.timestamp &- first.timestamp)) / 90_000
    }
    // A second in the queue of the path, 0.25 s in the pacer's, a second of keyframes there, and at most 1.5 on the path.
    #expect(delays.count > 3 && delays.allSatisfy { $0 < 4 }, "\(delays)")
    #expect(receiver.unorderedFrames == 0)
    let list = camera.server.output.statistics.viewerList ?? []
    let dropped = list.map(\.framesSkipped)
    #expect(dropped.min() == 0 && dropped.max() ?? 0 > 300, "\(dropped)")
    #expect(try camera.receiver(quick).frames(2...29).count >= 780)
  }

  @Test(arguments: [false, true])
  func `a viewer of the transcoding moves to the low rendition and back, or to the transcoding of that`(isLowHigh: Bool)
    throws
  {
    let camera = try Camera(isHigh: (true, isLowHigh))
    let top = try #require(camera.server.transcodings.main)
    let low = try #require(isLowHigh ? camera.server.transcodings.low : camera.server.low)
    var conditions = Self.path(0)
    conditions.rates = [(0, 600_000), (15, 12_000_000)]
    let viewer = try camera.server.watch(1, conditions)
    try camera.run(seconds: 14)
    #expect(low.statistics.viewers == 1 && top.statistics.viewers == 0)
    try camera.run(seconds: 31)
    #expect(low.statistics.viewers == 0 && top.statistics.viewers == 1)
    // Never what the client does not decode.
    #expect(camera.server.output.statistics.viewers == 0 && camera.server.stream.viewerBitrate == nil)
    #expect(!isLowHigh || camera.server.low?.statistics.bytesSent == 0)
    let receiver = try camera.receiver(viewer)
    #expect(receiver.unorderedFrames == 0 && receiver.freezes(16...45) == [])
    #expect(receiver.arrivedBitrate(42...44) > 2_000_000)
    #expect(camera.server.output.statistics.viewerList?.map(\.number) == [1])
  }

  @Test func `the transcoding follows its only viewer, until another one comes`() throws {
    let camera = try Camera(isHigh: (true, false))
    let (first, stream) = (try camera.server.watch(1, Self.path(1_200_000)), camera.server.transcodedStreams.main)
    try camera.run(seconds: 20)
    let bitrate = try #require(stream.viewerBitrate)
    #expect(bitrate < 1_200_000 && bitrate > 700_000)
    #expect(camera.server.stream.viewerBitrate == nil && camera.server.low?.statistics.viewers == 0)
    let receiver = try camera.receiver(first)
    #expect(receiver.unorderedFrames == 0 && receiver.freezes(5...20) == [] && receiver.frames(5...19).count >= 410)
    #expect(receiver.arrivedBitrate(10...19) > 700_000)
    _ = try camera.server.watch(2, Self.path(20_000_000, queue: 500_000))
    try camera.run(seconds: 1)
    #expect(stream.viewerBitrate == nil)
  }

  @Test func `a viewer that asked for a rendition by name keeps it`() throws {
    let camera = try Camera()
    _ = try camera.server.watch(1, Self.path(20_000_000, queue: 500_000), path: "hello/low")
    _ = try camera.server.watch(2, Self.path(300_000), path: "hello/low")
    try camera.run(seconds: 20)
    #expect(
      camera.server.low?.statistics.viewers == 2 && camera.server.output.statistics.viewers == 0)
  }

  @Test func `only a viewer that is the only consumer drives the bitrate, and until another one comes`() throws {
    let camera = try Camera(hasLow: false)
    let output = Consumer()
    camera.server.stream.add(output)
    let first = try camera.server.watch(1, Self.path(1_000_000))
    try camera.run(seconds: 10)
    // A recording, or a viewer of another protocol.
    #expect(camera.server.stream.viewerBitrate == nil)
    camera.server.stream.remove(output)
    try camera.run(seconds: 10)
    let bitrate = try #require(camera.server.stream.viewerBitrate)
    #expect(bitrate < 1_000_000 && bitrate > 600_000 && camera.server.stream.videoBitrate == 2_300_000)
    #expect(try camera.receiver(first).freezes(14...20) == [])
    _ = try camera.server.watch(2, Self.path(20_000_000, queue: 500_000))
    try camera.run(seconds: 1)
    #expect(camera.server.stream.viewerBitrate == nil)
  }

  @Test func `the bitrate is the configured one again when the only viewer leaves`() throws {
    let camera = try Camera(hasLow: false)
    let (session, _) = try camera.server.connect(1)
    _ = try camera.server.watch(2, Self.path(800_000))
    #expect(camera.server.hub.close(session.id, path: "hello"))
    try camera.run(seconds: 8)
    #expect(camera.server.stream.viewerBitrate != nil)
    camera.server.hub.closeSessions()
    camera.server.loop.run()
    #expect(camera.server.stream.viewerBitrate == nil)
  }

  @Test func `viewers of a stream without frames get their keyframes in time`() throws {
    let server = try EmbeddedHub(hasLow: false)
    let stream = server.stream
    for number in 1...10 as ClosedRange<UInt8> {
      let requests = stream.statistics.keyframeRequests
      _ = try server.connect(number)
      for _ in 0..<70 where stream.statistics.keyframeRequests == requests { try server.advance(.milliseconds(10)) }
      #expect(stream.statistics.keyframeRequests == requests + 1, "\(number)")
      server.sendVideo(isKeyframe: true, length: 30_000)
    }
  }

  @Test func `datagrams that are not authentic are counted, of their viewer`() throws {
    let server = try EmbeddedHub(hasLow: false)
    let viewers = try (1...2).map { try server.connect(UInt8($0)).address }
    func counts() -> [Int] {
      server.loop.advanceTime(by: .milliseconds(1100))
      return server.output.statistics.viewerList?.map(\.datagramsDropped) ?? []
    }
    let before = counts()
    try #require(before.count == 2)
    // RTP and RTCP, which the second byte distinguishes (RFC 5761 §4).
    for kind: UInt8 in [96, 200, 201] {
      server.deliver(ByteBuffer(bytes: [0x80, kind] + [UInt8](repeating: 3, count: 60)), from: viewers[0])
    }
    #expect(counts() == [before[0] + 3, before[1]])
  }

  /// Lies of a viewer: nothing arrives, everything is to be sent again, keyframes always, 1 bit/s.
  private static func lie(to camera: Camera, from address: TransportAddress) throws {
    guard var client = camera.server.clients[address], let ssrc = client.video.last?.header.ssrc else { return }
    let last = client.video.last?.header.sequenceNumber ?? 0
    let block = RTCPReportBlock(
      ssrc: ssrc, fractionLost: 255, cumulativeLost: 0x7F_FFFF, extendedHighestSequenceNumber: 0, jitter: .max)
    let datagrams = [
      client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]),
      client.feedback(.nack(RTCPNackPair.pairs((0..<300).map { last &- $0 }))),
      client.feedback(.pictureLossIndication),
      client.feedback(.receiverEstimatedBitrate(.init(bitrate: 1, ssrcs: [ssrc]))),
      client.feedback(
        .transportWide(
          RTCPTransportWideFeedback(
            baseSequenceNumber: last, statusCount: 500, referenceTime: 7, feedbackCount: 1, arrivals: []))),
    ]
    camera.server.clients[address] = client
    for datagram in datagrams { camera.server.deliver(datagram, from: address) }
  }

  @Test func `a viewer that lies changes nothing for the others`() throws {
    func run(withLiar: Bool) throws -> (camera: Camera, viewers: [TransportAddress]) {
      let camera = try Camera()
      let viewers = try (1...3).map { try camera.server.watch(UInt8($0), Self.path(20_000_000, queue: 500_000)) }
      let liar = withLiar ? try camera.server.connect(9).address : nil
      camera.beforeFrame = { camera in
        if let liar { for _ in 0..<5 { try Self.lie(to: camera, from: liar) } }
      }
      try camera.run(seconds: 20)
      return (camera, viewers)
    }
    let (honest, lied) = (try run(withLiar: false), try run(withLiar: true))
    // A few keyframes at once, then one in five seconds.
    #expect(lied.camera.keyframeCount <= honest.camera.keyframeCount + 4 + 4)
    #expect(lied.camera.server.stream.viewerBitrate == nil && lied.camera.bitrates.allSatisfy { $0 == 2_300_000 })
    for (first, second) in zip(honest.viewers, lied.viewers) {
      let (alone, beside) = (try honest.camera.receiver(first), try lied.camera.receiver(second))
      #expect(beside.frames(2...20).count == alone.frames(2...20).count && beside.freezes(1...20) == [])
      #expect(beside.arrivedBitrate(2...19) >= 0.95 * alone.arrivedBitrate(2...19))
    }
  }
}

/// An output with consumers, such as a recording.
final class Consumer: StreamOutput {
  func consume(_ sample: EncodedSample) {}
  func streamEnded() {}
}
