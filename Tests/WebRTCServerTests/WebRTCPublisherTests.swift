import Authentication
import Capture
import Media
import MediaInput
import NIOCore
import NIOEmbedded
import NIOPosix
import Serving
import Streaming
import Testing
import Threading
import WebRTC
import WebRTCPeers

@testable import WebRTCServer

@Suite("Publishers over WebRTC", .timeLimit(.minutes(5)))
struct WebRTCPublisherTests {
  /// Samples and ends that a source has delivered.
  private final class Consumer: VideoConsumer, AudioConsumer {
    struct State {
      var samples: [EncodedSample] = []
      var descriptions: [CodecDescription] = []
      var ends: [VidiconError?] = []
    }

    let state = Monitor(State())

    func consume(_ frame: VideoFrame) {}
    func consume(_ block: AudioBlock) {}

    func consume(_ sample: EncodedSample, of description: CodecDescription) {
      self.state.withLock {
        $0.samples.append(sample)
        $0.descriptions.append(description)
      }
    }

    func captureEnded(_ error: VidiconError?) { self.state.withLock { $0.ends.append(error) } }

    /// The state once a condition holds, or after a timeout.
    func wait(until condition: (State) -> Bool) -> State {
      _ = self.state.wait(until: StreamClock.system.now() + .seconds(300)) { condition($0) ? true : nil }
      return self.state.withLock { $0 }
    }
  }

  /// A source, and an embedded hub that receives its publishers.
  private final class Scene {
    /// H.264 is passed through, so that its content does not matter.
    let source = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .whip)
    let input: PublishedInput
    let server: EmbeddedHub

    init(video: VideoSettings = VideoSettings()) throws {
      self.input = try #require(PublishedSource.input(of: self.source.video, over: .whip))
      self.server = try EmbeddedHub(video: video)
    }

    static func address(_ number: UInt8) -> TransportAddress {
      TransportAddress(ip: .v4(0xC633_6400 | UInt32(number)), port: 5000)
    }

    func open(_ number: UInt8 = 1, offer: String = "chromium", takesOver: Bool = false) throws -> WHEPSession {
      let session = try self.server.hub.openPublication(
        of: self.server.stream, self.input, PublishOffers.offer(offer), takesOver: takesOver,
        candidates: [EmbeddedHub.candidate])
      self.server.publishers[Self.address(number)] = PublisherClient(Self.address(number), answer: session.answer)
      return session
    }

    /// Opens a session and connects its publisher.
    func connect(_ number: UInt8 = 1, offer: String = "chromium", takesOver: Bool = false) throws -> WHEPSession {
      let session = try self.open(number, offer: offer, takesOver: takesOver)
      for datagram in self.server.publishers[Self.address(number)]?.connect() ?? [] {
        self.server.deliver(datagram, from: Self.address(number))
      }
      return session
    }

    func send(_ number: UInt8 = 1, isKeyframe: Bool = false, timestamp: UInt32) {
      let payloads = PublisherPayloads.h264(isKeyframe: isKeyframe, packetCount: 3)
      let datagrams = self.server.publishers[Self.address(number)]?.video(payloads, timestamp: timestamp) ?? []
      for datagram in datagrams { self.server.deliver(datagram, from: Self.address(number)) }
    }

    func client(_ number: UInt8 = 1) throws -> PublisherClient {
      try #require(self.server.publishers[Self.address(number)])
    }

    var statistics: WebRTCPublisherStatistics? { self.server.hub.publisherBoard[self.server.stream] }
  }

  @Test func `frames of a publisher are the source's, and its end is the source's end`() throws {
    let scene = try Scene()
    let consumer = Consumer()
    try scene.source.video.start(consumer: consumer)
    defer { scene.source.video.stop() }
    let session = try scene.connect()
    #expect(scene.server.hub.count == 1 && scene.statistics?.isLive == false)
    scene.send(isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(33))
    scene.send(timestamp: 2970)
    let state = consumer.wait { $0.samples.count == 2 }
    #expect(state.samples.map(\.isKeyframe) == [true, false])
    let times = state.samples.map(\.presentationTime)
    #expect(times.count == 2 && times[1] - times[0] == .milliseconds(33))
    #expect(state.descriptions.allSatisfy { if case .h264(let video) = $0 { video.width == 1280 } else { false } })
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    let live = try #require(scene.statistics)
    #expect(live.isLive && live.videoCodec == "h264" && live.audioCodec == "opus" && live.framesReceived == 2)
    #expect(!scene.server.hub.closePublication(session.id, of: "other"))
    #expect(scene.server.hub.closePublication(session.id, of: "hello"))
    #expect(!scene.server.hub.closePublication(session.id, of: "hello"))
    #expect(consumer.wait { !$0.ends.isEmpty }.ends.map { $0?.cause } == ["no publisher sends"])
    #expect(try scene.client().closings == 1 && scene.server.hub.count == 0)
    let ended = try #require(scene.statistics)
    #expect(!ended.isLive && ended.videoCodec == nil && ended.framesReceived == 2 && ended.sessionsOpened == 1)
    #expect(scene.server.reported.isEmpty)
  }

  @Test func `a second publisher is refused while the first is live, unless it takes over`() throws {
    let scene = try Scene()
    let first = try scene.connect(1)
    scene.send(1, isKeyframe: true, timestamp: 0)
    #expect(throws: WebRTCRefusal.taken(retryAfter: 3)) {
      try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: false)
    }
    #expect(throws: WebRTCRefusal.taken(retryAfter: 3)) { try scene.open(2) }
    #expect(scene.server.hub.count == 1, "the refused one has no session")
    try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: true)
    _ = try scene.connect(2, takesOver: true)
    #expect(try scene.client(1).closings == 1 && scene.server.hub.count == 1)
    #expect(!scene.server.hub.closePublication(first.id, of: "hello"))
    scene.send(2, isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    let statistics = try #require(scene.statistics)
    #expect(statistics.isLive && statistics.framesReceived == 2)
    #expect(statistics.sessionsOpened == 2 && statistics.sessionsTakenOver == 1 && statistics.attemptsRefused == 2)
  }

  @Test func `a publisher that fell silent is replaced at once, without a wish to take over`() throws {
    let scene = try Scene()
    _ = try scene.connect(1)
    scene.send(1, isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .seconds(2))
    try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: false)
    _ = try scene.connect(2)
    scene.send(2, isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.statistics?.sessionsReplaced == 1 && scene.statistics?.framesReceived == 2)
    #expect(try scene.client(1).closings == 1)
  }

  @Test func `a session that is ended before it is connected leaves its place to the next one at once`() throws {
    let scene = try Scene()
    let first = try scene.open(1)
    #expect(throws: WebRTCRefusal.taken(retryAfter: 3)) { try scene.open(2) }
    #expect(scene.server.hub.closePublication(first.id, of: "hello"))
    try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: false)
    _ = try scene.connect(2)
    scene.send(2, isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    let statistics = try #require(scene.statistics)
    #expect(statistics.isLive && statistics.framesReceived == 1 && statistics.sessionsOpened == 2)
    #expect(statistics.sessionsReplaced == 0 && statistics.sessionsTakenOver == 0 && scene.server.hub.count == 1)
  }

  @Test func `a publisher of one frame a second is live between its frames, and is asked for nothing`() throws {
    let scene = try Scene()
    let consumer = Consumer()
    try scene.source.video.start(consumer: consumer)
    defer { scene.source.video.stop() }
    _ = try scene.connect()
    for second in UInt32(0)..<10 {
      scene.send(isKeyframe: second == 0, timestamp: second * 90_000)
      scene.server.loop.advanceTime(by: .milliseconds(999))
      #expect(throws: WebRTCRefusal.taken(retryAfter: 3)) {
        try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: false)
      }
      #expect(scene.statistics?.isLive == true, "second \(second)")
      scene.server.loop.advanceTime(by: .milliseconds(1))
    }
    let state = consumer.wait { $0.samples.count == 10 }
    let times = state.samples.map(\.presentationTime.seconds)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 1) < 0.003 }, "\(times)")
    #expect(state.ends.isEmpty && scene.statistics?.framesReceived == 10)
    #expect(try scene.client().keyframeRequests == 0 && scene.client().missing == [])
    #expect(scene.server.reported == [])
  }

  @Test func `a missing packet is requested at once, and a keyframe when it is given up`() throws {
    let scene = try Scene()
    _ = try scene.connect()
    scene.send(isKeyframe: true, timestamp: 0)
    scene.server.publishers[Scene.address(1)]?.skipVideo(1)
    scene.send(timestamp: 3000)
    #expect(try scene.client().missing.count == 1)
    // The packet is given up 60 ms later, between two ticks of viewers.
    scene.server.loop.advanceTime(by: .milliseconds(55))
    #expect(try scene.client().keyframeRequests == 0)
    scene.server.loop.advanceTime(by: .milliseconds(8))
    #expect(try scene.client().keyframeRequests == 1)
  }

  @Test func `a keyframe that a consumer needs is requested of the publisher`() throws {
    let scene = try Scene()
    _ = try scene.connect()
    scene.send(isKeyframe: true, timestamp: 0)
    #expect(try scene.client().keyframeRequests == 0)
    scene.source.video.requestKeyframe()
    scene.server.loop.run()
    #expect(try scene.client().keyframeRequests == 1)
    scene.send(isKeyframe: true, timestamp: 3000)
    scene.server.loop.advanceTime(by: .seconds(3))
    #expect(try scene.client().keyframeRequests == 1, "the keyframe has come")
  }

  @Test func `datagrams of a publisher that are not authentic are counted, also after its end`() throws {
    let scene = try Scene()
    let session = try scene.connect()
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    let before = try #require(scene.statistics).datagramsDropped
    for kind: UInt8 in [96, 200] {
      let datagram = ByteBuffer(bytes: [0x80, kind] + [UInt8](repeating: 3, count: 60))
      scene.server.deliver(datagram, from: Scene.address(1))
    }
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.statistics?.datagramsDropped == before + 2)
    #expect(scene.server.hub.closePublication(session.id, of: "hello"))
    #expect(scene.statistics?.datagramsDropped == before + 2)
  }

  @Test func `frames that are too large are one line for the owner`() throws {
    let scene = try Scene()
    _ = try scene.connect(offer: "firefox")
    var payloads = PublisherPayloads.vp8(isKeyframe: true, packetCount: 2)
    payloads[0].setBytes([0x00, 0x20, 0x00, 0x20], at: 7)
    for timestamp: UInt32 in [0, 3000, 6000] {
      let datagrams = scene.server.publishers[Scene.address(1)]?.video(payloads, timestamp: timestamp) ?? []
      for datagram in datagrams { scene.server.deliver(datagram, from: Scene.address(1)) }
    }
    #expect(
      scene.server.reported == [
        "WebRTC of hello: a publisher sends 8192×8192, which is too large: choose a smaller size there"
      ])
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.statistics?.isLive == false && scene.statistics?.framesDropped == 3)
  }

  @Test
  func `frames that are upright in a stream that is not are one line for the owner, also from the next publisher`()
    throws
  {
    let scene = try Scene(video: VideoSettings(width: 64, height: 48))
    /// Sends a keyframe of a size in VP8, RFC 6386 §9.1.
    func send(_ number: UInt8, width: UInt16, height: UInt16, timestamp: UInt32) {
      var payloads = PublisherPayloads.vp8(isKeyframe: true, packetCount: 2)
      let size = [width, height].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
      payloads[0].setBytes(size, at: 7)
      let datagrams = scene.server.publishers[Scene.address(number)]?.video(payloads, timestamp: timestamp) ?? []
      for datagram in datagrams { scene.server.deliver(datagram, from: Scene.address(number)) }
    }
    let session = try scene.connect(1, offer: "firefox")
    send(1, width: 640, height: 360, timestamp: 0)
    send(1, width: 480, height: 480, timestamp: 3000)
    #expect(scene.server.reported == [])
    send(1, width: 360, height: 640, timestamp: 6000)
    let line =
      "WebRTC of hello: a publisher sends 360×640 to a stream of 64×48, which shows it between black bars: turn the camera, "
      + "or start with --size 48x64, or with --scaling fill"
    #expect(scene.server.reported == [line])
    send(1, width: 720, height: 1280, timestamp: 9000)
    #expect(scene.server.hub.closePublication(session.id, of: "hello"))
    _ = try scene.connect(2, offer: "firefox")
    send(2, width: 360, height: 640, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.server.reported == [line] && scene.statistics?.framesReceived == 5)
  }

  @Test func `a shape is of interest where bars would fill the sides, and neither crop nor rotation is chosen`() {
    let upright = PublishedShape(width: 720, height: 1280)
    #expect(upright.advice(width: 1280, height: 720)?.contains("start with --size 720x1280") == true)
    #expect(PublishedShape(width: 1280, height: 720).advice(width: 720, height: 1280) != nil)
    for (width, height) in [(720, 1280), (360, 480), (500, 500)] {
      #expect(upright.advice(width: width, height: height) == nil)
    }
    #expect(PublishedShape(width: 500, height: 500).advice(width: 1280, height: 720) == nil)
    #expect(upright.advice(for: LiveStream("a", video: VideoSettings(width: 64, height: 48))) != nil)
    #expect(upright.advice(for: LiveStream("a", video: VideoSettings(width: 64, height: 48, scaling: .fill))) == nil)
    #expect(upright.advice(for: LiveStream("a")) == nil)
    let turned = LiveStream("a", video: VideoSettings(width: 64, height: 48))
    turned.rotation = .right
    #expect(upright.advice(for: turned) == nil)
  }

  @Test func `a publisher without a check ends after half a minute, with a line that says why`() throws {
    let scene = try Scene()
    _ = try scene.open()
    scene.server.loop.advanceTime(by: .seconds(31))
    #expect(
      scene.server.reported == [
        "WebRTC of hello: a publisher did not reach this machine; its answer named 192.0.2.7:8189, and no check of it "
          + "arrived: open this UDP port, or give the address that clients reach with --ice-address"
      ])
    #expect(scene.server.hub.count == 0)
    // The next one is admitted.
    try scene.server.hub.admitPublication(of: scene.server.stream, takesOver: false)
  }

  @Test func `a publisher whose network was lost ends after twenty seconds, and its source says so`() throws {
    let scene = try Scene()
    let consumer = Consumer()
    try scene.source.video.start(consumer: consumer)
    defer { scene.source.video.stop() }
    _ = try scene.connect()
    scene.send(isKeyframe: true, timestamp: 0)
    scene.server.publishers[Scene.address(1)]?.answersChecks = false
    scene.server.loop.advanceTime(by: .seconds(21))
    #expect(scene.server.hub.count == 0 && scene.server.reported.isEmpty)
    #expect(
      consumer.wait { !$0.ends.isEmpty }.ends.map { $0?.cause } == ["nothing has arrived from it for a while"])
  }

  @Test func `the end of the stream ends its publisher and its viewers`() throws {
    let scene = try Scene()
    _ = try scene.connect()
    let viewer = try scene.server.connect(9).address
    #expect(scene.server.hub.count == 2)
    scene.server.output.streamEnded()
    scene.server.loop.run()
    #expect(scene.server.hub.count == 0 && scene.statistics == nil)
    #expect(try scene.client().closings == 1 && scene.server.clients[viewer]?.closings == 1)
  }

  @Test func `a restart of ICE keeps the media`() throws {
    let scene = try Scene()
    let session = try scene.connect()
    let fragment = try TrickleFragment(
      parsing: ByteBuffer(string: "a=ice-ufrag:next\r\na=ice-pwd:client1password1client\r\n"))
    #expect(throws: WebRTCRefusal.preconditionRequired) {
      try scene.server.hub.changePublication(session.id, of: "hello", fragment, entityTags: nil)
    }
    #expect(throws: WebRTCRefusal.preconditionFailed) {
      try scene.server.hub.changePublication(session.id, of: "hello", fragment, entityTags: "\"other\"")
    }
    #expect(throws: WebRTCRefusal.notFound) {
      try scene.server.hub.changePublication("unknown", of: "hello", fragment, entityTags: "*")
    }
    let change = try scene.server.hub.changePublication(
      session.id, of: "hello", fragment, entityTags: session.entityTag)
    guard case .restarted(let text, let entityTag) = change else {
      Issue.record("no restart")
      return
    }
    #expect(entityTag != session.entityTag && String(buffer: text).contains("a=ice-ufrag:"))
    scene.send(isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.statistics?.framesReceived == 1)
  }

  @Test func `what no publisher should send changes nothing`() throws {
    let scene = try Scene()
    _ = try scene.connect()
    let (address, stranger) = (Scene.address(1), Scene.address(2))
    for byte: UInt8 in [0, 1, 20, 63, 128, 144, 200, 255] {
      let datagram = ByteBuffer(bytes: [byte] + [UInt8](repeating: byte, count: 40))
      for source in [address, stranger] { scene.server.deliver(datagram, from: source) }
      // Authentic, but of a payload type that was not agreed on.
      var packet = ByteBuffer(bytes: [0x80, 1, 0, byte, 0, 0, 0, 0, 0, 0, 0, 99])
      packet.writeRepeatingByte(byte, count: 30)
      let sealed = scene.server.publishers[address]?.seal(rtp: packet) ?? ByteBuffer()
      for source in [address, stranger] { scene.server.deliver(sealed, from: source) }
    }
    #expect(scene.server.hub.count == 1 && scene.server.strays.isEmpty)
    scene.send(isKeyframe: true, timestamp: 0)
    scene.server.loop.advanceTime(by: .milliseconds(1100))
    #expect(scene.statistics?.isLive == true && scene.statistics?.framesReceived == 1)
  }
}

@Suite("WHIP at a WebRTC server", .timeLimit(.minutes(5)))
struct WHIPServiceTests {
  private static let offer = ByteBuffer(
    string: PublishOffers.lines("chromium").joined(separator: "\r\n") + "\r\n")

  @Test func `a stream is published to by its name, if its source is whip:`() async throws {
    var settings = WebRTCServerSettings(port: 0)
    settings.address = "127.0.0.1"
    let server = try #require(
      WebRTCServer(settings: settings, group: .singleton, registry: ConnectionRegistry()))
    let source = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .whip)
    let (camera, plain) = (LiveStream("camera"), LiveStream("plain"))
    camera.attachVideo(source.video)
    for stream in [camera, plain] { server.outputs.serve(stream, descriptions: []) }
    try await server.start()
    let client = IPAddress.v4(0x7F00_0001)
    await #expect(throws: WebRTCRefusal.notFound) { try await server.admitPublication(of: "none", takesOver: false) }
    await #expect(throws: WebRTCRefusal.noSource) { try await server.admitPublication(of: "plain", takesOver: true) }
    try await server.admitPublication(of: "camera", takesOver: false)
    #expect(server.publisherStatistics(of: camera)?.sessionsOpened == 0)
    #expect(server.publisherStatistics(of: plain) == nil)
    let malformed = await #expect(throws: WebRTCRefusal.self) {
      try await server.openPublication(
        of: "camera", offer: ByteBuffer(string: "x"), takesOver: false, serverAddresses: [])
    }
    guard case .malformed? = malformed else {
      Issue.record("\(String(describing: malformed))")
      return
    }
    var before = StreamClock.system.now()
    var session = try await server.openPublication(
      of: "camera", offer: Self.offer, takesOver: false, serverAddresses: [client])
    let answer = String(buffer: session.answer)
    let port = try #require(server.udpPort)
    #expect(answer.contains("a=recvonly") && answer.contains(" 127.0.0.1 \(port) typ host"))
    var refusal: WebRTCRefusal?
    // A session that does not connect holds the stream for a time that a busy machine may need between two requests: the second one
    // has it then.
    for _ in 0..<100 {
      let next = StreamClock.system.now()
      do throws(WebRTCRefusal) {
        session = try await server.openPublication(
          of: "camera", offer: Self.offer, takesOver: false, serverAddresses: [])
      } catch {
        refusal = error
        break
      }
      #expect(StreamClock.system.now() - before >= WHIPEndpoint.connectTime, "the stream was taken")
      before = next
    }
    #expect(refusal == .taken(retryAfter: 3))
    let trickled = try await server.changePublication(
      session.id, of: "camera", fragment: ByteBuffer(string: "a=end-of-candidates\r\n"), entityTags: nil)
    #expect(trickled == .candidates)
    #expect(await server.closePublication(session.id, of: "camera"))
    #expect(await !server.closePublication(session.id, of: "camera"))
    await server.stop()
  }
}
