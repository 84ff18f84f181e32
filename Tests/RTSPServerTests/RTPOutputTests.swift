import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Serving
import Streaming
import Testing
import Threading

@testable import RTSPServer

@Suite("RTP fan-out to viewers")
struct RTPOutputTests {
  private let server: EmbeddedServer

  init() throws { self.server = try EmbeddedServer() }

  @Test func `sender reports of both tracks are sent every five seconds to viewers that play`() throws {
    let reporting = self.server.directory.scheduleReports(on: self.server.loop)
    let playing = try self.server.connectAndStart()
    let waiting = try self.server.connectAndPlay()
    self.server.loop.advanceTime(by: .milliseconds(4_975 - 1))
    for _ in 0..<3 {
      #expect(try playing.received() == [])
      self.server.loop.advanceTime(by: .milliseconds(1))
      #expect(try playing.received() == ["SR 1", "SR 3"])
      self.server.loop.advanceTime(by: .milliseconds(4_999))
    }
    #expect(try waiting.received() == ["503"])
    reporting.cancel()
    self.server.loop.advanceTime(by: .seconds(10))
    #expect(try playing.received() == [])
  }

  @Test func `the wall clock of sender reports is that of the output's start`() throws {
    let output = RTPOutput(
      self.server.stream.main, descriptions: EmbeddedServer.descriptions, eventLoops: [self.server.loop],
      sockets: { nil }, refusals: RefusalCounters(), onEnd: { _ in }
    ) { time in 1_000_000_000_000_000_000 + time.nanoseconds }
    let before = StreamClock.system.now()
    let reports = output.reports()
    let after = StreamClock.system.now()
    for report in [reports.video, reports.audio] {
      let packets = try RTCPCompoundPacket(parsing: #require(report)).packets
      guard case .senderReport(let sender) = packets[0] else {
        Issue.record("the first packet is no sender report")
        return
      }
      let bounds = [before, after].map {
        NTPTimestamp(unixNanoseconds: 1_000_000_000_000_000_000 + $0.nanoseconds).rawValue
      }
      #expect((bounds[0]...bounds[1]).contains(sender.ntpTimestamp.rawValue))
    }
  }

  @Test func `video that waits while privacy is switched on is dropped, a viewer with unsent data is closed`() throws {
    let (prompt, slow) = (try self.server.connectAndStart(), try self.server.connectAndStart())
    _ = try (prompt.received(), slow.received())
    slow.setWritable(false)
    self.server.queueFrame()
    self.server.output.discardEarlier()
    self.server.loop.run()
    #expect(try prompt.received() == [] && prompt.isOpen)
    #expect(!slow.isOpen)
    self.server.sendKeyframe()
    #expect(try prompt.received() == ["RTP 0", "RTP 0"])
  }

  @Test func `audio leaves with the next access unit, in one write`() throws {
    let client = try self.server.connectAndStart()
    self.server.queueAudio()
    self.server.queueAudio()
    self.server.loop.advanceTime(by: .milliseconds(33))
    #expect(try client.received() == [])
    self.server.sendFrame()
    let write = try #require(try client.channel.readOutbound(as: ByteBuffer.self))
    #expect(try client.received() == [])
    #expect(write.readableBytes == 2 * (4 + 12 + 4 + 3) + (4 + 12 + 2))
  }

  @Test func `audio waits at most a frame interval for an access unit that does not come`() throws {
    let client = try self.server.connectAndStart()
    self.server.queueAudio()
    self.server.loop.advanceTime(by: .milliseconds(20))
    self.server.queueAudio()
    self.server.loop.advanceTime(by: .milliseconds(13))
    #expect(try client.received() == [])
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(try client.received() == ["RTP 2", "RTP 2"])
    self.server.queueAudio()
    self.server.loop.advanceTime(by: EmbeddedServer.audioWait)
    #expect(try client.received() == ["RTP 2"])
  }

  @Test func `a viewer that starts gets the last audio from before its keyframe, and none before that`() throws {
    let client = try self.server.connectAndPlay()
    self.server.queueAudio()
    self.server.queueAudio()
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    self.server.waitForSecondTrack()
    #expect(try client.received() == ["RTP 2"])
  }

  @Test func `an event loop that stands still is sent no more than sixty frames, and then a keyframe`() throws {
    let client = try self.server.connectAndStart()
    for _ in 0..<60 { self.server.queueFrame() }
    // Four frames are sent in a turn, with pauses between them.
    self.server.loop.run()
    #expect(try client.received() == Array(repeating: "RTP 0", count: 4))
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(try client.received() == Array(repeating: "RTP 0", count: 56))
    #expect(self.server.statistics.framesSkipped == 0)
    let requests = self.server.stream.statistics.keyframeRequests
    for _ in 0..<1000 { self.server.queueFrame() }
    self.server.loop.run()
    #expect(try client.received() == [])
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    #expect(self.server.statistics.framesSkipped == 1000)
    self.server.sendFrame()
    self.server.sendKeyframe()
    self.server.sendFrame()
    #expect(try client.received() == ["RTP 0", "RTP 0", "RTP 0"])
    #expect(self.server.statistics.framesSkipped == 1001)
  }

  @Test func `without viewers no sample is packetized`() throws {
    let before = self.server.output.senderStates
    self.server.sendKeyframe()
    self.server.sendAudio()
    #expect(self.server.output.senderStates.video == before.video)
    #expect(self.server.output.senderStates.audio == before.audio)
    let client = try self.server.connectAndPlay()
    self.server.sendKeyframe()
    // The audio of the time without viewers is packetized for the first.
    self.server.waitForSecondTrack()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0", "RTP 2"])
    #expect(self.server.output.senderStates.video != before.video)
  }

  @Test func `all viewers get the same packets on their own channels`() throws {
    let first = try self.server.connectAndPlay()
    let second = try self.server.connect()
    try second.setUp(track: 0, channels: "8-9")
    try second.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    self.server.sendKeyframe()
    let packets = try Self.packets(of: first, channel: 0)
    #expect(try Self.packets(of: second, channel: 8) == packets)
  }

  private static func packets(of client: EmbeddedClient, channel: UInt8) throws -> [ByteBuffer] {
    let packets = try client.messages().compactMap { message -> ByteBuffer? in
      guard case .interleaved(channel, let payload) = message else { return nil }
      return payload
    }
    #expect(packets.count == 2)
    return packets
  }

  @Test func `the counters have the viewers and the bytes of their packets`() throws {
    #expect(self.server.statistics == ViewerStatistics())
    let clients = [try self.server.connectAndStart(), try self.server.connectAndStart()]
    for client in clients { _ = try client.received() }
    let before = self.server.statistics
    #expect(before.viewers == 2)
    self.server.sendFrame()
    self.server.sendAudio()
    // Framing and RTP header, then the NAL unit; AU-headers-length, one AU-header and the AAC frame.
    #expect(self.server.statistics.bytesSent - before.bytesSent == 2 * ((4 + 12 + 2) + (4 + 12 + 4 + 3)))
    for client in clients { try client.channel.close().wait() }
    self.server.loop.run()
    #expect(self.server.statistics.viewers == 0)
  }

  @Test func `a new parameter set is in the next session description and before the next keyframe`() throws {
    let client = try self.server.connectAndStart()
    self.server.output.descriptionChanged(
      to: .h264(
        H264Description(
          sequenceParameterSet: [0x67, 0x64, 0x00, 0x28], pictureParameterSet: [0x68, 0xEE], width: 64, height: 48,
          frameRate: 30)))
    try client.send("DESCRIBE rtsp://h/live RTSP/1.0\r\nCSeq: 7\r\n\r\n")
    guard case .response(let response) = try client.messages().first else {
      Issue.record("no response to DESCRIBE")
      return
    }
    #expect(String(buffer: response.body).contains("profile-level-id=640028"))
    self.server.sendKeyframe()
    guard case .interleaved(0, let packet) = try client.messages().first else {
      Issue.record("no packet")
      return
    }
    // STAP-A behind the 12 bytes of the RTP header: NAL unit header, length, sequence parameter set.
    #expect(Array(packet.readableBytesView.dropFirst(15).prefix(4)) == [0x67, 0x64, 0x00, 0x28])
  }

  @Test func `a viewer is in its group once`() throws {
    let counters = ViewerCounters(refusals: RefusalCounters())
    let group = ViewerGroup(
      eventLoop: self.server.loop, counters: counters,
      sender: RTPSender(
        eventLoop: self.server.loop, frameRate: 30, counters: counters, sockets: { nil }, requestKeyframe: {}))
    let viewer = RTPViewer(
      transports: PerTrack(), connection: self.server.makeHandler(), counters: self.server.output.counters)
    group.add(viewer)
    group.add(viewer)
    group.remove(viewer)
    #expect(!group.hasViewers)
    group.remove(viewer)
    #expect(!group.hasViewers)
  }
}
