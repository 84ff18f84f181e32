import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTMP
import Serving
import Streaming
import TestSupport
import Testing

@testable import RTMPServer

@Suite("Playing over RTMP")
struct RTMPPlayTests {
  private let server: EmbeddedRTMPServer

  init() throws { self.server = try EmbeddedRTMPServer() }

  @Test(arguments: ["rtmp://h/hello", "rtmp://h/live/hello", "rtmp://h/live/hello?token=ignored"])
  func `a viewer starts at the keyframe that is requested for it, behind metadata and configurations`(
    url: String
  ) throws {
    let requests = self.server.stream.statistics.keyframeRequests
    let client = try self.server.connect(url)
    #expect(client.isStreaming)
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    self.server.sendVideo(at: 1000)
    self.server.sendAudio(at: 1010)
    #expect(try client.received() == [])
    self.server.sendVideo(at: 1033, isKeyframe: true)
    self.server.sendAudio(at: 1040)
    self.server.sendVideo(at: 1067)
    #expect(
      try client.received() == [
        "onMetaData 0", "AVC 2033", "AAC 2033", "keyframe 2033", "audio 2040", "frame 2067",
      ])
  }

  @Test func `the main rendition has an address among the others`() throws {
    #expect(try self.server.connect("rtmp://h/live/hello/main").isStreaming)
    #expect(try !self.server.connect("rtmp://h/live/none/main").isStreaming)
  }

  @Test func `every viewer gets the same bytes of media, whenever it came`() throws {
    let first = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try first.received()
    let second = try self.server.connect()
    let (start, other) = (first.bytes.readableBytes, second.bytes.readableBytes)
    self.server.sendVideo(at: 2000, isKeyframe: true)
    self.server.sendAudio(at: 2010)
    self.server.sendVideo(at: 2033)
    try first.run()
    try second.run()
    let media = try #require(first.bytes.getSlice(at: start, length: first.bytes.readableBytes - start))
    let all = try #require(second.bytes.getSlice(at: other, length: second.bytes.readableBytes - other))
    #expect(media.readableBytes > 0 && all.readableBytes > media.readableBytes)
    #expect(all.readableBytesView.suffix(media.readableBytes).elementsEqual(media.readableBytesView))
  }

  @Test func `a frame and the audio before it leave in one write`() throws {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    self.server.output.consume(
      EncodedSample(
        kind: .audio, payload: ByteBuffer(bytes: [1]), presentationTime: .zero + .milliseconds(1010),
        duration: .milliseconds(21), isKeyframe: true))
    self.server.sendVideo(at: 1033)
    let buffer = try #require(try client.channel.readOutbound(as: ByteBuffer.self))
    #expect(try client.channel.readOutbound(as: ByteBuffer.self) == nil)
    // Chunk stream 4, then 6: the audio frame, then the access unit.
    #expect(buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) == 4)
  }

  @Test func `a viewer that asks for responses and does not read them is not read from`() throws {
    let client = try self.server.connect()
    let reads = ReadCounter()
    try client.channel.pipeline.syncOperations.addHandler(reads, position: .first)
    self.server.sendVideo(at: 1000, isKeyframe: true)
    #expect(try client.received().last == "keyframe 2000")
    client.setWritable(false)
    var (writer, pings) = (RTMPChunkWriter(chunkSize: 128), ByteBuffer())
    for _ in 0..<1000 { writer.write(RTMPControlMessage.pingRequest(1).message, into: &pings) }
    var rounds = 0
    repeat {
      reads.count = 0
      try client.channel.writeInbound(pings)
      client.channel.read()
      rounds += 1
    } while reads.count > 0 && rounds < 100
    // 18 bytes answer a request.
    #expect(rounds == 4)
    client.setWritable(true)
    #expect(reads.count == 1)
    self.server.sendVideo(at: 1033)
    #expect(client.isStreaming)
  }

  @Test func `commands read at once are answered up to a bound, and the rest once responses are sent`() throws {
    let client = try self.server.connect()
    client.setWritable(false)
    // AMF 0: the name "x", transaction 1. 118 bytes of `_error` answer a chunk of 14.
    let body: [UInt8] = [0x02, 0, 1, 0x78, 0x00, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]
    var commands = ByteBuffer(bytes: [0x03, 0, 0, 0, 0, 0, UInt8(body.count), 0x14, 0, 0, 0, 0] + body)
    var count = 1
    while commands.readableBytes + 14 <= 64 << 10 {
      commands.writeInteger(0xC3 as UInt8)
      commands.writeBytes(body)
      count += 1
    }
    try client.channel.writeInbound(commands)
    let first = try client.takeOutput()
    #expect(first.readableBytes > 64 << 10 && first.readableBytes < 65 << 10)
    let another = try #require(commands.getSlice(at: 25, length: 14))
    try client.channel.writeInbound(another)
    #expect(try client.takeOutput().readableBytes == 0)
    client.setWritable(true)
    let all = try String(buffer: first) + String(buffer: client.takeOutput())
    #expect(count == 4680 && all.ranges(of: "x is not supported").count == count + 1)
    self.server.sendVideo(at: 1000, isKeyframe: true)
    #expect(try client.received().last == "keyframe 2000")
  }

  @Test func `new parameter sets precede the next keyframe for all viewers`() throws {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    var changed = EmbeddedRTMPServer.h264
    changed.pictureParameterSet = [0x68, 0xCF]
    self.server.output.descriptionChanged(to: .h264(changed))
    let late = try self.server.connect()
    self.server.sendVideo(at: 1033)
    self.server.sendVideo(at: 1067, isKeyframe: true)
    #expect(try client.received() == ["frame 2033", "onMetaData 0", "AVC 2067", "AAC 2067", "keyframe 2067"])
    #expect(try late.received() == ["onMetaData 0", "AVC 2067", "AAC 2067", "keyframe 2067"])
    self.server.sendVideo(at: 1100, isKeyframe: true)
    #expect(try client.received() == ["keyframe 2100"])
  }

  @Test func `a stream without video starts with its audio`() throws {
    let server = try EmbeddedRTMPServer([EmbeddedRTMPServer.aac])
    let client = try server.connect()
    server.sendAudio(at: 500)
    server.sendAudio(at: 521)
    #expect(try client.received() == ["onMetaData 0", "AAC 2000", "audio 2000", "audio 2021"])
  }

  @Test(arguments: ["rtmp://h/other", "rtmp://h/live/hello/none", "rtmp://h/live/%FF"])
  func `an unknown stream is refused, and the connection is closed`(url: String) throws {
    let client = try self.server.connect(url)
    #expect(!client.isStreaming && !client.isOpen)
    #expect(client.failure?.code == "NetStream.Play.StreamNotFound")
  }

  @Test func `a protected stream plays with a token in the URL only, and wrong ones are counted`() throws {
    var settings = AccessSettings()
    let token = try #require(AccessToken(parsing: "0123456789abcdef0123", role: .viewer))
    settings.tokens = [token]
    let server = try EmbeddedRTMPServer(settings: settings)
    #expect(try server.connect("rtmp://h/live/hello").failure?.code == "NetStream.Play.Failed")
    #expect(server.access.refusals[.unauthorized] == 1)
    #expect(try server.connect("rtmp://h/live/hello?token=wrong").failure?.code == "NetStream.Play.Failed")
    #expect(server.access.refusals[.failedLogin] == 1)
    #expect(try server.connect("rtmp://h/live/hello?token=0123456789abcdef0123").isStreaming)
  }

  @Test func `a protected stream plays with a password in the URL, over TLS or on this machine`() throws {
    var settings = AccessSettings()
    settings.users = [Credentials(user: "anna", password: "a/b&c")]
    let server = try EmbeddedRTMPServer(settings: settings)
    let url = "rtmp://h/live/hello?user=anna&pass=a%2Fb%26c"
    #expect(try server.connect(url).isStreaming)
    #expect(try server.connect("rtmp://h/live/hello?user=anna&pass=a").failure?.code == "NetStream.Play.Failed")
    #expect(server.access.refusals[.failedLogin] == 1)
    let elsewhere = try server.connect(url, from: "192.0.2.1")
    #expect(elsewhere.failure?.code == "NetStream.Play.Failed" && server.access.refusals[.failedLogin] == 2)
    settings.allowsInsecureBasic = true
    #expect(try EmbeddedRTMPServer(settings: settings).connect(url, from: "192.0.2.1").isStreaming)
  }

  @Test func `a viewer that reads nothing for a second resumes at a keyframe, and is closed after ten`() throws {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    client.setWritable(false)
    self.server.sendVideo(at: 1033)
    self.server.loop.advanceTime(by: .milliseconds(1100))
    self.server.sendVideo(at: 2100)
    #expect(self.server.output.statistics.framesSkipped == 2)
    let requests = self.server.stream.statistics.keyframeRequests
    client.setWritable(true)
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    self.server.sendVideo(at: 2133)
    self.server.sendVideo(at: 2167, isKeyframe: true)
    #expect(try client.received() == ["keyframe 3167"])
    client.setWritable(false)
    self.server.sendVideo(at: 2200)
    self.server.loop.advanceTime(by: .seconds(12))
    #expect(!client.isOpen)
    #expect(self.server.output.statistics.viewersClosedAsSlow == 1)
    #expect(self.server.output.statistics.viewers == 0)
  }

  @Test func `frames that must not be shown any more are not sent`() throws {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    self.server.queueVideo(at: 1033)
    self.server.output.discardEarlier()
    self.server.loop.run()
    self.server.sendVideo(at: 1067, isKeyframe: true)
    #expect(try client.received() == ["keyframe 2067"])
  }

  @Test func `the end of the stream is reported, and closes the connection`() throws {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    self.server.output.streamEnded()
    try client.run()
    #expect(!client.isOpen)
    #expect(self.server.directory.output(of: self.server.stream.main) == nil)
  }

  @Test func `counters have the viewers and the bytes of their chunks`() throws {
    let client = try self.server.connect()
    #expect(self.server.output.statistics.viewers == 1)
    let before = client.bytes.readableBytes
    self.server.sendVideo(at: 1000, isKeyframe: true)
    try client.run()
    #expect(self.server.output.statistics.bytesSent == client.bytes.readableBytes - before)
    try client.channel.close().wait()
    self.server.loop.run()
    #expect(self.server.output.statistics.viewers == 0)
  }

  @Test func `bytes that are not RTMP are counted, and close the connection`() throws {
    let channel = EmbeddedChannel(loop: self.server.loop)
    try channel.pipeline.syncOperations.addHandler(self.server.makeHandler())
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
    try channel.writeInbound(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
    self.server.loop.run()
    #expect(!channel.isActive)
    #expect(self.server.access.refusals[.malformed] == 1)
  }

  @Test func `a connection that asks for nothing is closed after ten seconds`() throws {
    let channel = EmbeddedChannel(loop: self.server.loop)
    try channel.pipeline.syncOperations.addHandler(self.server.makeHandler())
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
    self.server.loop.advanceTime(by: .milliseconds(9_900))
    #expect(channel.isActive)
    self.server.loop.advanceTime(by: .milliseconds(1_200))
    #expect(!channel.isActive)
  }
}
