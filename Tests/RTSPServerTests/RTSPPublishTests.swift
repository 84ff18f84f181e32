import Authentication
import Capture
import Media
import MediaInput
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Streaming
import TestSupport
import Testing

@testable import RTSPServer

@Suite("Publishing over RTSP")
struct RTSPPublishTests {
  private static let url = "rtsp://h/live?key=\(PublishedFrames.key)"
  private let server: EmbeddedServer
  private let clock = ManualClock()
  private let source: PublishedSource
  private let samples = SampleCounter()

  init() throws {
    self.source = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .rtsp
    ) { [clock] in clock.now }
    var settings = AccessSettings()
    settings.tokens = [
      try #require(AccessToken(parsing: PublishedFrames.key, role: .publisher(stream: "live"))),
      try #require(AccessToken(parsing: "operator-0123456789", role: .operator)),
    ]
    self.server = try EmbeddedServer(settings: settings)
    self.server.stream.attachVideo(self.source.video)
  }

  /// A client that sends a stream over its connection.
  private func publish() throws -> EmbeddedClient {
    let client = try self.server.connect()
    try client.send(PublishedFrames.announce(Self.url))
    try client.send(PublishedFrames.setUp("RTP/AVP/TCP;unicast;interleaved=0-1"))
    try client.send(PublishedFrames.record)
    #expect(try client.received() == ["200", "200", "200"])
    return client
  }

  private func sendFrames(_ range: Range<Int>, over client: EmbeddedClient) throws {
    for index in range { try client.sendInterleaved(PublishedFrames.packet(index), channel: 0) }
  }

  @Test func `frames of a publisher reach the source, and viewers of the address stay`() throws {
    try self.source.video.start(consumer: self.samples)
    defer { self.source.video.stop() }
    let viewer = try self.server.connectAndStart()
    let client = try self.publish()
    try self.sendFrames(0..<3, over: client)
    #expect(self.samples.wait(for: 3))
    self.server.sendFrame()
    #expect(try viewer.received() == ["RTP 0"])
    #expect(self.server.directory.refusals[.malformed] == 0)
  }

  @Test(arguments: [
    ("rtsp://h/live?key=0123456789abcdef0124", "401", RefusalReason.failedLogin),
    ("rtsp://h/live", "401", .forbidden),
  ])
  func `a wrong key is refused and counted`(url: String, status: String, reason: RefusalReason) throws {
    let client = try self.server.connect()
    try client.send(PublishedFrames.announce(url))
    #expect(try client.received() == [status])
    #expect(self.server.access.refusals[reason] == 1)
  }

  @Test func `an operator publishes too, and a stream with another source takes no publisher`() throws {
    let url = "rtsp://h/live?token=operator-0123456789"
    let client = try self.server.connect()
    try client.send(PublishedFrames.announce(url))
    #expect(try client.received() == ["200"])
    let rtmp = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2))
    self.server.stream.attachVideo(rtmp.video)
    let other = try self.server.connect()
    try other.send(PublishedFrames.announce(url))
    #expect(try other.received() == ["403"])
  }

  @Test func `a second publisher is refused while the first sends, and takes over when it is gone`() throws {
    let first = try self.publish()
    let second = try self.server.connect()
    try second.send(PublishedFrames.announce(Self.url))
    #expect(try second.received() == ["503"])
    try first.send(PublishedFrames.request("TEARDOWN rtsp://h/live"))
    #expect(try first.received() == ["200"])
    try second.send(PublishedFrames.announce(Self.url))
    #expect(try second.received() == ["200"])
    try second.channel.close().wait()
    self.server.loop.run()
    _ = try self.publish()
  }

  @Test func `a connection that has ended takes no stream, as when its password was compared meanwhile`() throws {
    let first = try self.server.connect()
    let handler = try first.channel.pipeline.syncOperations.handler(type: RTSPConnectionHandler.self)
    try first.channel.close().wait()
    self.server.loop.run()
    handler.receive(ByteBuffer(string: PublishedFrames.announce(Self.url)))
    _ = try self.publish()
  }

  @Test func `a publisher whose packets yield no frame yet is not displaced, a silent one is after two seconds`() throws
  {
    let first = try self.publish()
    for index in 1..<5 {
      self.clock.advance(by: .milliseconds(1500))
      // No keyframe: nothing can be decoded.
      try self.sendFrames(index..<index + 1, over: first)
    }
    self.clock.advance(by: .milliseconds(1900))
    let second = try self.server.connect()
    try second.send(PublishedFrames.announce(Self.url))
    #expect(try second.received() == ["503"])
    self.clock.advance(by: .milliseconds(200))
    try second.send(PublishedFrames.announce(Self.url))
    #expect(try second.received() == ["200"])
    // The first one has lost the stream, and learns it with its next packet.
    try self.sendFrames(5..<6, over: first)
    #expect(!first.isOpen)
  }

  @Test func `a publisher whose stream was taken over is closed with its next frame`() throws {
    let first = try self.publish()
    let input = try #require(PublishedSource.input(of: self.source.video, over: .rtsp))
    self.clock.advance(by: PublisherSlot.holdTime)
    _ = try #require(input.begin())
    try self.sendFrames(0..<1, over: first)
    #expect(!first.isOpen)
  }

  @Test func `malformed packets and unknown channels are counted, and the publication goes on`() throws {
    try self.source.video.start(consumer: self.samples)
    defer { self.source.video.stop() }
    let client = try self.publish()
    try client.sendInterleaved(ByteBuffer(bytes: [1, 2, 3]), channel: 0)
    try client.sendInterleaved(ByteBuffer(bytes: [1, 2, 3]), channel: 1)
    try client.sendInterleaved(PublishedFrames.packet(0), channel: 7)
    #expect(self.server.directory.refusals[.malformed] == 3)
    try self.sendFrames(0..<2, over: client)
    #expect(self.samples.wait(for: 2) && client.isOpen)
  }

  @Test func `AAC whose channels a program config element describes is mixed down to stereo`() throws {
    let surround = try SurroundAudio()
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let config = Hexadecimal.encode(surround.configuration, uppercase: true)
    // As FFmpeg 5.1 writes it.
    let description = [
      "v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=No Name", "t=0 0", "m=audio 0 RTP/AVP 97",
      "a=rtpmap:97 MPEG4-GENERIC/48000/6",
      "a=fmtp:97 profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3; config=\(config)",
      "a=control:streamid=0",
    ].map { $0 + "\r\n" }.joined()
    let client = try self.server.connect()
    try client.send(
      PublishedFrames.request("ANNOUNCE \(Self.url)", ["Content-Type: application/sdp"], body: description))
    try client.send(PublishedFrames.setUp("RTP/AVP/TCP;unicast;interleaved=0-1"))
    try client.send(PublishedFrames.record)
    #expect(try client.received() == ["200", "200", "200"])
    for (index, frame) in surround.frames.enumerated() {
      // One header of 16 bits, the first 13 of which are the length of the frame, RFC 3640 §3.3.6.
      var payload = ByteBuffer(bytes: [0, 16])
      payload.writeInteger(UInt16(frame.count << 3))
      payload.writeBytes(frame)
      var packet = ByteBuffer()
      RTPPacket(
        header: RTPHeader(
          marker: true, payloadType: 97, sequenceNumber: UInt16(index), timestamp: UInt32(1024 * index), ssrc: 5),
        payload: payload
      ).serialize(into: &packet)
      try client.sendInterleaved(packet, channel: 0)
      self.clock.advance(by: .milliseconds(21))
    }
    #expect(client.isOpen && self.server.directory.refusals[.malformed] == 0)
    let blocks = audio.blocks(samples: 30_000)
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) })
    #expect(abs(blocks.tone(ofChannel: 0) - 440) < 5 && abs(blocks.tone(ofChannel: 1) - 880) < 5)
  }

  @Test func `packets longer than those of players are taken from publishers only`() throws {
    let long = ByteBuffer(repeating: 0, count: 20_000)
    let client = try self.publish()
    try client.sendInterleaved(long, channel: 0)
    #expect(client.isOpen)
    let viewer = try self.server.connectAndStart()
    try viewer.sendInterleaved(long, channel: 1)
    #expect(!viewer.isOpen)
  }

  @Test func `a publisher gets receiver reports every five seconds while it sends`() throws {
    let client = try self.publish()
    try self.sendFrames(0..<3, over: client)
    self.server.loop.advanceTime(by: .seconds(5))
    guard case .interleaved(let channel, let payload)? = try client.messages().first,
      case .receiverReport(let report)? = try RTCPCompoundPacket(parsing: payload).packets.first
    else { throw ParsingError(.missing, field: "report") }
    #expect(channel == 1)
    #expect(report.reportBlocks.map(\.ssrc) == [5])
    #expect(report.reportBlocks.map(\.extendedHighestSequenceNumber) == [2])
    try client.send(PublishedFrames.request("PAUSE rtsp://h/live"))
    self.server.loop.advanceTime(by: .seconds(20))
    #expect(try client.received() == ["200"])
  }

  @Test func `a publisher that sends nothing for a minute is closed`() throws {
    let client = try self.publish()
    self.server.loop.advanceTime(by: .seconds(61))
    #expect(!client.isOpen)
    _ = try self.publish()
  }

  @Test func `datagrams wait in order, and at most four mebibytes of them`() {
    let maximum = ReceivedDatagrams.maximumByteCountOfPublisher
    let received = ReceivedDatagrams(maximumByteCount: maximum)
    func append(_ track: Int, length: Int) -> Bool {
      received.append(
        .init(track: track, isRTCP: false, payload: ByteBuffer(repeating: 0, count: length), arrival: .zero))
    }
    #expect(append(0, length: 1) && !append(1, length: 1))
    #expect(received.removeAll().datagrams.map(\.track) == [0, 1])
    #expect(append(2, length: maximum) && !append(3, length: 1))
    let (datagrams, droppedCount) = received.removeAll()
    #expect(droppedCount == 1 && datagrams.map(\.track) == [2])
    #expect(append(4, length: 1))
  }

  @Test(arguments: [(0, 256), (100, 163)])
  func `a flood of a viewer's datagrams wakes its connection up once, and most of it is dropped`(
    length: Int, count: Int
  ) {
    let received = ReceivedDatagrams(maximumByteCount: ReceivedDatagrams.maximumByteCountOfViewer)
    let wakeCount = (0..<10_000).count { _ in
      received.append(.init(payload: ByteBuffer(repeating: 0, count: length), arrival: .zero))
    }
    let (datagrams, droppedCount) = received.removeAll()
    #expect(wakeCount == 1 && datagrams.count == count && droppedCount == 10_000 - count)
  }
}
