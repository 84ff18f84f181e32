import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Serving
import Streaming
import Testing

@testable import RTSPServer

@Suite("Start with the last keyframe")
struct CachedStartTests {
  private let server: EmbeddedServer

  init() throws { self.server = try EmbeddedServer() }

  @Test func `the last keyframe is sent at once, and then what followed it and follows`() throws {
    self.server.sendFrame()
    self.server.sendKeyframe()
    self.server.sendFrame()
    self.server.sendAudio()
    let requests = self.server.stream.statistics.keyframeRequests
    let client = try self.connectAndPlay()
    let first = try client.messages()
    #expect(Self.kinds(of: first) == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    self.server.waitForSecondTrack()
    let rest = try client.messages()
    #expect(Self.kinds(of: rest) == ["RTP 0", "RTP 2"])
    let start = first + rest
    #expect(self.server.stream.statistics.keyframeRequests == requests)
    self.server.sendFrame()
    self.server.sendAudio()
    let live = try client.messages()
    #expect(Self.kinds(of: live) == ["RTP 0", "RTP 2"])
    try Self.expectConsecutive(start + live)
    #expect(try Self.announcedSequenceNumber(in: start) == Self.packets(in: start, channel: 0)[0].header.sequenceNumber)
  }

  @Test func `packets that wait for the event loop are sent once, and are those of other viewers`() throws {
    let other = try self.server.connectAndStart()
    self.server.queueFrame()
    self.server.queueAudio()
    let client = try self.connectAndPlay()
    self.server.queueFrame()
    self.server.sendAudio()
    let messages = try client.messages()
    try Self.expectConsecutive(messages)
    #expect(try Self.packets(in: messages, channel: 0).count == 4)
    #expect(try Self.packets(in: messages, channel: 2).count == 2)
    let others = try Self.packets(in: try other.messages(), channel: 0)
    #expect(try Self.packets(in: messages, channel: 0).suffix(2).map(\.header) == others.map(\.header))
  }

  @Test func `viewers that come and go leave no gap in the samples since the keyframe`() throws {
    let first = try self.server.connectAndStart()
    self.server.sendFrame()
    try first.channel.close().wait()
    self.server.loop.run()
    self.server.sendFrame()
    let waiting = try self.server.connectAndPlay()
    self.server.sendFrame()
    #expect(try waiting.received() == [])
    let client = try self.connectAndPlay()
    self.server.waitForSecondTrack()
    let messages = try client.messages()
    #expect(Self.kinds(of: messages) == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0", "RTP 0", "RTP 0", "RTP 0"])
    try Self.expectConsecutive(messages)
  }

  @Test func `after PAUSE no packet is sent again`() throws {
    self.server.sendKeyframe()
    let client = try self.connectAndPlay()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    try client.send("PAUSE rtsp://h/live RTSP/1.0\r\nCSeq: 10\r\n\r\n")
    self.server.sendFrame()
    try self.play(client)
    #expect(try client.received() == ["200"])
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
  }

  @Test func `a viewer that does not ask waits for the next keyframe`() throws {
    self.server.sendKeyframe()
    let client = try self.server.connectAndPlay()
    self.server.sendFrame()
    #expect(try client.received() == [])
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
  }

  @Test func `nothing from before privacy was switched on is sent`() throws {
    self.server.sendKeyframe()
    self.server.sendFrame()
    self.server.output.discardEarlier()
    self.server.sendFrame()
    let client = try self.connectAndPlay()
    #expect(try client.received() == [])
    self.server.sendKeyframe()
    self.server.sendAudio()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0", "RTP 2"])
    let other = try self.connectAndPlay()
    self.server.waitForSecondTrack()
    #expect(try other.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0", "RTP 2"])
  }

  @Test func `a keyframe of seconds ago without samples since is too old`() throws {
    self.server.sendKeyframe()
    self.server.loop.advanceTime(by: .seconds(3))
    let client = try self.connectAndPlay()
    #expect(try client.received() == [])
  }

  @Test func `a client that does not read is queued packets, not copies of them`() throws {
    self.server.sendKeyframe()
    for _ in 0..<50 { self.server.sendFrame() }
    let client = try self.connect()
    client.setWritable(false)
    try self.play(client)
    // Everything waits as references.
    #expect(try client.received() == [])
    client.setWritable(true)
    self.server.waitForSecondTrack()
    let all = try client.received()
    #expect(all == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"] + Array(repeating: "RTP 0", count: 50))
  }

  @Test func `a connection slower than the group gets all of it, however long it takes`() throws {
    self.server.sendKeyframe()
    for _ in 0..<40 { self.server.sendFrame() }
    let (client, link) = try self.connectOverSlowLink()
    try self.play(client)
    var messages = try client.messages()
    // Ten deliveries a second: 4 s for the group, while two frames a second follow.
    for step in 0..<60 {
      if step % 5 == 0 { self.server.sendFrame() }
      self.server.loop.advanceTime(by: .milliseconds(100))
      link.drain(client)
      messages += try client.messages()
    }
    #expect(try Self.packets(in: messages, channel: 0).count == 2 + 40 + 12)
    try Self.expectConsecutive(messages)
    #expect(self.server.statistics.framesSkipped == 0)
    // The client is a viewer like others from then on.
    link.isSlow = false
    self.server.sendFrame()
    #expect(try client.received() == ["RTP 0"])
  }

  @Test func `a connection that has not taken the group in ten seconds goes on at a keyframe`() throws {
    self.server.sendKeyframe()
    for _ in 0..<100 { self.server.sendFrame() }
    let (client, link) = try self.connectOverSlowLink()
    try self.play(client)
    let requests = self.server.stream.statistics.keyframeRequests
    for _ in 0..<21 {
      self.server.sendFrame()
      self.server.loop.advanceTime(by: .milliseconds(500))
      link.drain(client)
    }
    let sent = try Self.packets(in: try client.messages(), channel: 0).count
    #expect((15...25).contains(sent))
    #expect(self.server.stream.statistics.keyframeRequests > requests)
    link.isSlow = false
    self.server.sendFrame()
    #expect(try client.received() == [])
    self.server.sendKeyframe()
    #expect(try client.received() == ["RTP 0", "RTP 0"])
    #expect(self.server.statistics.framesSkipped >= 121 - sent)
    #expect(client.isOpen)
  }

  private func connectOverSlowLink() throws -> (EmbeddedClient, SlowLink) {
    let client = try self.connect()
    let link = SlowLink()
    try client.channel.pipeline.syncOperations.addHandler(link, position: .first)
    return (client, link)
  }

  @Test func `a group that is too large is not kept`() throws {
    var group = KeyframeGroup<SharedPackets>()
    let length = KeyframeGroup<SharedPackets>.maximumByteCount / 4
    for index in 0..<4 { group.append(Self.sample(length: length, isKeyframe: index == 0), at: .zero) }
    #expect(group.takeSamples().count == 4)
    for index in 0..<5 { group.append(Self.sample(length: length, isKeyframe: index == 0), at: .zero) }
    #expect(group.takeSamples().isEmpty)
    group.append(Self.sample(length: 1, isKeyframe: false), at: .zero)
    #expect(group.takeSamples().isEmpty)
    group.append(Self.sample(length: 1, isKeyframe: true), at: .zero)
    #expect(group.takeSamples().count == 1)
  }

  private static func sample(length: Int, isKeyframe: Bool) -> EncodedSample {
    EncodedSample(
      kind: .video, payload: ByteBuffer(repeating: 0, count: length), presentationTime: .zero,
      duration: .milliseconds(33), isKeyframe: isKeyframe)
  }

  private func connect() throws -> EmbeddedClient {
    let client = try self.server.connect()
    try client.send("DESCRIBE rtsp://h/live?start=cached RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    try client.setUp(track: 0, channels: "0-1")
    try client.setUp(track: 1, channels: "2-3")
    #expect(try client.received() == ["200", "200", "200"])
    return client
  }

  private func play(_ client: EmbeddedClient) throws {
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 9\r\n\r\n")
  }

  private func connectAndPlay() throws -> EmbeddedClient {
    let client = try self.connect()
    try self.play(client)
    return client
  }

  private static func kinds(of messages: [RTSPMessage]) -> [String] {
    messages.map { message in
      switch message {
      case .response(let response): "\(response.status.code)"
      case .interleaved(let channel, _): channel % 2 == 0 ? "RTP \(channel)" : "SR \(channel)"
      case .request, .malformed: "?"
      }
    }
  }

  private static func packets(in messages: [RTSPMessage], channel: UInt8) throws -> [RTPPacket] {
    try messages.compactMap { message in
      guard case .interleaved(channel, let payload) = message else { return nil }
      return try RTPPacket(parsing: payload)
    }
  }

  private static func announcedSequenceNumber(in messages: [RTSPMessage]) throws -> UInt16? {
    guard case .response(let response) = messages.first, let information = response.headers["RTP-Info"] else {
      return nil
    }
    return information.split(separator: ";").first { $0.hasPrefix("seq=") }.flatMap { UInt16($0.dropFirst(4)) }
  }

  private static func expectConsecutive(_ messages: [RTSPMessage]) throws {
    for channel in [UInt8(0), 2] {
      let numbers = try Self.packets(in: messages, channel: channel).map(\.header.sequenceNumber)
      guard let first = numbers.first else { continue }
      #expect(numbers == numbers.indices.map { first &+ UInt16($0) })
    }
  }
}
