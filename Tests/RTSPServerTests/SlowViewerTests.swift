import Media
import NIOCore
import NIOEmbedded
import Serving
import Streaming
import TestSupport
import Testing

@testable import RTSPServer

@Suite("Drop policy of slow RTSP viewers")
struct SlowViewerTests {
  private let server: EmbeddedServer

  init() throws { self.server = try EmbeddedServer() }

  @Test func `a viewer whose packets are unsent for less than a second gets all of them`() throws {
    let client = try self.server.connectAndStart()
    client.setWritable(false)
    self.server.sendFrame()
    self.server.sendAudio()
    self.server.loop.advanceTime(by: .milliseconds(940))
    self.server.sendFrame()
    #expect(try client.received() == [])
    client.setWritable(true)
    #expect(try client.received() == ["RTP 0", "RTP 2", "RTP 0"])
    #expect(self.server.statistics.framesSkipped == 0)
  }

  @Test func `what follows the first keyframe is dropped by its own age, not by the time since`() throws {
    let client = try self.server.connectAndPlay()
    let link = SlowLink()
    try client.channel.pipeline.syncOperations.addHandler(link, position: .first)
    self.server.sendKeyframe()
    for _ in 0..<4 { self.server.sendFrame() }
    self.server.waitForSecondTrack()
    // One frame is taken for each that comes: four wait all the time, each for less than half a second.
    for _ in 0..<30 {
      self.server.sendFrame()
      self.server.loop.advanceTime(by: .milliseconds(100))
      link.drain(client)
    }
    link.isSlow = false
    link.drain(client)
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"] + Array(repeating: "RTP 0", count: 34))
    #expect(self.server.statistics.framesSkipped == 0)
  }

  @Test(arguments: [900, 1100])
  func `a viewer whose first keyframe is unsent gets what follows for a second, and else goes on at a keyframe`(
    milliseconds: Int64
  ) throws {
    let client = try self.server.connectAndPlay()
    client.setWritable(false)
    self.server.sendKeyframe()
    self.server.sendFrame()
    self.server.loop.advanceTime(by: .milliseconds(milliseconds))
    self.server.sendFrame()
    client.setWritable(true)
    let start = ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"]
    #expect(try client.received() == (milliseconds < 1000 ? start + ["RTP 0", "RTP 0"] : start))
    #expect(self.server.statistics.framesSkipped == (milliseconds < 1000 ? 0 : 2))
    self.server.sendFrame()
    self.server.sendKeyframe()
    #expect(try client.received() == (milliseconds < 1000 ? ["RTP 0", "RTP 0", "RTP 0"] : ["RTP 0", "RTP 0"]))
  }

  @Test func `a slow viewer is skipped and resumes at a keyframe, other viewers miss nothing`() throws {
    let (slow, fast) = (try self.server.connectAndStart(), try self.server.connectAndPlay())
    self.server.sendKeyframe()
    _ = (try slow.received(), try fast.received())
    let requests = self.server.stream.statistics.keyframeRequests

    slow.setWritable(false)
    self.server.sendFrame()
    self.server.sendAudio()
    self.server.loop.advanceTime(by: .seconds(1))
    self.server.sendKeyframe()
    #expect(try slow.received() == [])
    #expect(self.server.statistics.framesSkipped == 2)
    #expect(self.server.stream.statistics.keyframeRequests == requests)

    slow.setWritable(true)
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    self.server.sendFrame()
    self.server.sendAudio()
    #expect(try slow.received() == ["RTP 2"])
    #expect(self.server.statistics.framesSkipped == 3)

    self.server.sendKeyframe()
    self.server.sendFrame()
    #expect(try slow.received() == ["RTP 0", "RTP 0", "RTP 0"])
    #expect(self.server.statistics.framesSkipped == 3)
    #expect(try fast.received().filter { $0 == "RTP 0" }.count == 7)
  }

  @Test func `a viewer that reads nothing for ten seconds is closed and counted`() throws {
    let client = try self.server.connectAndStart()
    _ = try self.stall(client)
    self.server.loop.advanceTime(by: .milliseconds(9_999))
    #expect(client.isOpen)
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(!client.isOpen)
    #expect(self.server.statistics.viewersClosedAsSlow == 1)
    #expect(self.server.statistics.viewers == 0)
  }

  @Test func `a viewer that reads some of its buffer has ten seconds more`() throws {
    let client = try self.server.connectAndStart()
    let socket = try self.stall(client)
    self.server.loop.advanceTime(by: .milliseconds(9_500))
    socket.isStalled = false
    client.channel.flush()
    socket.isStalled = true
    self.server.loop.advanceTime(by: .milliseconds(10_499))
    #expect(client.isOpen)
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(!client.isOpen)
    #expect(self.server.statistics.viewersClosedAsSlow == 1)
  }

  @Test func `a viewer that is writable again is not closed`() throws {
    let client = try self.server.connectAndStart()
    client.setWritable(false)
    self.server.sendFrame()
    self.server.loop.advanceTime(by: .seconds(5))
    client.setWritable(true)
    self.server.loop.advanceTime(by: .seconds(50))
    #expect(client.isOpen)
    #expect(self.server.statistics.viewersClosedAsSlow == 0)
  }

  @Test func `a slow viewer with audio only resumes at the next packet and skips no frames`() throws {
    let client = try self.server.connect()
    try client.setUp(track: 1, channels: "0-1")
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    self.server.sendAudio()
    #expect(try client.received() == ["200", "200", "SR 1", "RTP 0"])
    client.setWritable(false)
    self.server.sendAudio()
    self.server.loop.advanceTime(by: .seconds(1))
    self.server.sendAudio()
    #expect(try client.received() == [])
    client.setWritable(true)
    self.server.sendAudio()
    #expect(try client.received() == ["RTP 0"])
    #expect(self.server.statistics.framesSkipped == 0)
    #expect(self.server.stream.statistics.keyframeRequests == 0)
  }

  @Test func `no sender report is added to the buffer of a slow viewer`() throws {
    let reporting = self.server.directory.scheduleReports(on: self.server.loop)
    defer { reporting.cancel() }
    let client = try self.server.connectAndStart()
    client.setWritable(false)
    self.server.sendFrame()
    self.server.loop.advanceTime(by: .seconds(1))
    self.server.sendFrame()
    self.server.loop.advanceTime(by: .seconds(5))
    #expect(try client.received() == [])
  }

  @Test func `keep-alives of a slow viewer are read, so that it is not closed while it makes progress`() throws {
    let client = try self.server.connectAndStart()
    let reads = ReadCounter()
    try client.channel.pipeline.syncOperations.addHandler(reads, position: .first)
    client.setWritable(false)
    self.server.sendFrame()
    client.channel.read()
    #expect(reads.count == 1)
  }

  @Test func `a slow viewer that makes progress stays for as long as it sends keep-alives, and is closed without them`()
    throws
  {
    let clients = [try self.server.connectAndStart(), try self.server.connectAndStart()]
    let sockets = try clients.map { try self.stall($0) }
    // 70 s, with a keep-alive of the first client every 30 s.
    for halfSecond in 1...140 {
      if halfSecond.isMultiple(of: 60) {
        try clients[0].send("GET_PARAMETER rtsp://h/live RTSP/1.0\r\nCSeq: \(halfSecond)\r\n\r\n")
      }
      // Both read some bytes of what they are sent every 5 s, too few to get any frame.
      for (client, socket) in zip(clients, sockets) where halfSecond.isMultiple(of: 10) && client.isOpen {
        client.channel.write(ByteBuffer(repeating: 0, count: 100), promise: nil)
        self.server.loop.advanceTime(by: .milliseconds(1001))
        socket.isStalled = false
        client.channel.flush()
        socket.isStalled = true
      }
      self.server.sendFrame()
      self.server.loop.advanceTime(by: .milliseconds(500))
    }
    #expect(clients.map(\.isOpen) == [true, false])
    // The open viewer was skipping all the time, and neither was closed as slow.
    #expect(self.server.statistics.framesSkipped > 200)
    #expect(self.server.statistics.viewersClosedAsSlow == 0)
    var sent = ByteBuffer()
    while var buffer = try clients[0].channel.readOutbound(as: ByteBuffer.self) { sent.writeBuffer(&buffer) }
    #expect(String(buffer: sent).split(separator: "RTSP/1.0 200 OK").count == 1 + 2)
  }

  @Test func `no request is read while the client does not read its responses`() throws {
    let client = try self.server.connectAndStart()
    let reads = ReadCounter()
    try client.channel.pipeline.syncOperations.addHandler(reads, position: .first)
    client.channel.read()
    #expect(reads.count == 1)
    client.setWritable(false)
    let request = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"
    try client.send(String(repeating: request, count: 1000))
    // Responses have more than 64 bytes: of a thousand requests, some are not handled yet.
    let responses = try client.received().count
    #expect((16...256).contains(responses))
    client.channel.read()
    #expect(reads.count == 1)
    client.setWritable(true)
    #expect(reads.count == 2)
    #expect(try client.received().count == 1000 - responses)
  }

  /// Makes a client read nothing more while 100 bytes are buffered, and a frame find it so.
  private func stall(_ client: EmbeddedClient) throws -> StalledSocket {
    let socket = StalledSocket()
    try client.channel.pipeline.syncOperations.addHandler(socket, position: .first)
    client.channel.write(ByteBuffer(repeating: 0, count: 100), promise: nil)
    client.setWritable(false)
    self.server.sendFrame()
    return socket
  }

  /// Leaves written bytes in the channel's buffer while it is stalled.
  private final class StalledSocket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var isStalled = true

    func flush(context: ChannelHandlerContext) {
      if !self.isStalled { context.flush() }
    }
  }
}
