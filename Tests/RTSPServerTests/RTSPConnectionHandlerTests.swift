import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Serving
import Streaming
import Synchronization
import Testing

@testable import RTSPServer

@Suite("RTSP connections on an embedded event loop")
struct RTSPConnectionHandlerTests {
  private let server: EmbeddedServer

  init() throws { self.server = try EmbeddedServer() }

  @Test(arguments: ["rtsp://h/live/main", "rtsp://h/live?rendition=main", "rtsp://h/main", "rtsp://h/live/main/"])
  func `the main rendition has an address among the others`(url: String) throws {
    let client = try self.server.connect()
    try client.send("DESCRIBE \(url) RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    try client.send(
      "SETUP \(url)/trackID=0 RTSP/1.0\r\nCSeq: 2\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n")
    try client.send("PLAY \(url) RTSP/1.0\r\nCSeq: 3\r\n\r\n")
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "200", "200", "SR 1", "RTP 0", "RTP 0"])
    for other in ["rtsp://h/none/main", "rtsp://h/live/main/main", "rtsp://h/live/mai"] {
      let client = try self.server.connect()
      try client.send("DESCRIBE \(other) RTSP/1.0\r\nCSeq: 1\r\n\r\n")
      #expect(try client.received() == ["404"], "\(other)")
    }
  }

  @Test func `the response to PLAY comes first, then the sender reports, then the keyframe`() throws {
    let client = try self.server.connectAndPlay()
    #expect(self.server.stream.statistics.keyframeRequests == 1)
    self.server.sendFrame()
    self.server.sendAudio()
    #expect(try client.received() == [])
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    self.server.sendFrame()
    #expect(try client.received() == [])
    self.server.waitForSecondTrack()
    #expect(try client.received() == ["RTP 2", "RTP 0"])
    self.server.sendAudio()
    #expect(try client.received() == ["RTP 2"])
  }

  @Test func `RTP-Info has the sequence number of the first packet of each track`() throws {
    let client = try self.server.connectAndPlay()
    self.server.sendKeyframe()
    self.server.sendAudio()
    let messages = try client.messages()
    guard case .response(let response) = messages.first else {
      Issue.record("no response to PLAY")
      return
    }
    let information = try #require(response.headers["RTP-Info"])
    for (index, channel) in [(0, UInt8(0)), (1, UInt8(2))] {
      let packets = try messages.compactMap { message -> RTPPacket? in
        guard case .interleaved(channel, let payload) = message else { return nil }
        return try RTPPacket(parsing: payload)
      }
      let header = try #require(packets.first).header
      #expect(information.contains("trackID=\(index);seq=\(header.sequenceNumber);rtptime=\(header.timestamp)"))
    }
  }

  @Test func `a viewer with audio only starts at the next packet, without a keyframe request`() throws {
    let client = try self.server.connect()
    try client.setUp(track: 1, channels: "4-5")
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    self.server.sendKeyframe()
    #expect(try client.received() == ["200"])
    self.server.sendAudio()
    #expect(try client.received() == ["200", "SR 5", "RTP 4"])
    #expect(self.server.stream.statistics.keyframeRequests == 0)
  }

  @Test func `requests that arrive while PLAY waits are answered after the keyframe`() throws {
    let client = try self.server.connectAndPlay()
    try client.send("OPTIONS * RTSP/1.0\r\nCSeq: 10\r\n\r\n")
    #expect(try client.received() == [])
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0", "200"])
  }

  @Test func `PLAY without a keyframe fails after ten seconds and leaves the stream`() throws {
    let client = try self.server.connectAndPlay()
    #expect(self.server.statistics.viewers == 1)
    self.server.loop.advanceTime(by: .milliseconds(9_999))
    #expect(try client.received() == [])
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(try client.received() == ["503"])
    #expect(self.server.statistics.viewers == 0)
    self.server.sendKeyframe()
    #expect(try client.received() == [])
  }

  @Test func `a silent connection is closed after 60 seconds, a receiver report keeps it`() throws {
    let (silent, active) = (try self.server.connectAndStart(), try self.server.connectAndStart())
    self.server.loop.advanceTime(by: .seconds(59))
    try active.channel.writeInbound(ByteBuffer(bytes: [0x24, 1, 0, 4, 0x80, 0xC9, 0, 0]))
    #expect(silent.isOpen && active.isOpen)
    self.server.loop.advanceTime(by: .seconds(2))
    #expect(!silent.isOpen)
    #expect(active.isOpen)
    #expect(self.server.statistics.viewers == 1)
    self.server.loop.advanceTime(by: .seconds(60))
    #expect(!active.isOpen)
  }

  @Test func `PAUSE stops the packets, TEARDOWN and a closed connection remove the viewer`() throws {
    let client = try self.server.connectAndStart()
    try client.send("PAUSE rtsp://h/live RTSP/1.0\r\nCSeq: 3\r\n\r\n")
    self.server.sendKeyframe()
    #expect(try client.received() == ["200"])
    #expect(self.server.statistics.viewers == 0)
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 4\r\n\r\n")
    self.server.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    try client.send("TEARDOWN rtsp://h/live RTSP/1.0\r\nCSeq: 5\r\n\r\n")
    self.server.sendFrame()
    #expect(try client.received() == ["200"])
    #expect(self.server.statistics.viewers == 0)

    let closed = try self.server.connectAndStart()
    #expect(self.server.directory.outputs.connections.count == 2)
    try closed.channel.close().wait()
    self.server.loop.run()
    #expect(self.server.statistics.viewers == 0)
    #expect(self.server.directory.outputs.connections.count == 1)
  }

  @Test func `the end of the stream sends goodbyes, closes its connections and hides its name`() throws {
    let viewer = try self.server.connectAndStart()
    let waiting = try self.server.connectAndPlay()
    let other = try self.server.connect()
    self.server.output.streamEnded()
    self.server.loop.run()
    #expect(try viewer.received() == ["BYE 1", "BYE 3"])
    #expect(try waiting.received() == ["503"])
    #expect(!viewer.isOpen && !waiting.isOpen && other.isOpen)
    #expect(self.server.statistics.viewers == 0)
    try other.send("DESCRIBE rtsp://h/live RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    #expect(try other.received() == ["404"])
  }

  @Test func `malformed messages are counted; without framing the connection is closed`() throws {
    let client = try self.server.connect()
    try client.send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nnonsense\r\n\r\n")
    #expect(try client.received() == ["400"])
    #expect(client.isOpen)
    try client.send("$\u{9}\0\u{1}x")
    try client.send("\u{16}\u{3}\u{1}")
    #expect(try client.received() == ["400"])
    #expect(!client.isOpen)
    #expect(self.server.directory.malformedRequests.load(ordering: .relaxed) == 3)
  }

  @Test func `refusals of requests are counted by their status`() throws {
    let client = try self.server.connect()
    try client.send("DESCRIBE rtsp://h/live RTSP/1.0\r\n\r\n")
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 1\r\nSession: x\r\n\r\n")
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    try client.send("SETUP rtsp://h/live/trackID=0 RTSP/1.0\r\nCSeq: 3\r\nTransport: RTP/AVP;multicast\r\n\r\n")
    #expect(try client.received() == ["400", "454", "455", "461"])
    for reason in [RefusalReason.malformed, .sessionNotFound, .methodNotValid, .unsupportedTransport] {
      #expect(self.server.directory.refusals[reason] == 1, "\(reason)")
    }
  }

  @Test func `UDP is refused without sockets`() throws {
    let client = try self.server.connect()
    try client.send(
      "SETUP rtsp://h/live/trackID=0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP;unicast;client_port=6000-6001\r\n\r\n")
    #expect(try client.received() == ["461"])
  }
}
