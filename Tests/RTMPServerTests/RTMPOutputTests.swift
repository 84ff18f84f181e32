import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTMP
import Serving
import Streaming
import Testing

@testable import RTMPServer

@Suite("Fan-out to RTMP viewers")
struct RTMPOutputTests {
  private let server: EmbeddedRTMPServer

  init() throws { self.server = try EmbeddedRTMPServer() }

  /// A viewer that plays, with everything received.
  private func playing() throws -> EmbeddedRTMPClient {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    return client
  }

  /// An AAC frame that waits for the next access unit.
  private func queueAudio(at milliseconds: Int64) {
    self.server.output.consume(
      EncodedSample(
        kind: .audio, payload: ByteBuffer(bytes: [1, 2, 3]), presentationTime: .zero + .milliseconds(milliseconds),
        duration: .milliseconds(21), isKeyframe: true))
    self.server.loop.run()
  }

  @Test func `audio waits at most a frame interval for an access unit that does not come`() throws {
    let client = try self.playing()
    self.queueAudio(at: 1010)
    self.server.loop.advanceTime(by: .milliseconds(20))
    self.queueAudio(at: 1031)
    self.server.loop.advanceTime(by: .milliseconds(13))
    #expect(try client.received() == [])
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(try client.received() == ["audio 2010", "audio 2031"])
  }

  @Test func `a viewer that starts gets no audio from before its keyframe`() throws {
    let client = try self.server.connect()
    self.queueAudio(at: 990)
    self.server.sendVideo(at: 1000, isKeyframe: true)
    #expect(try client.received().filter { $0.hasPrefix("audio") } == [])
    self.server.sendAudio(at: 1011)
    #expect(try client.received().map { String($0.prefix(5)) } == ["audio"])
  }

  @Test func `without viewers no sample is packetized: timestamps begin with the first one that is`() throws {
    for second in Int64(1)...100 { self.server.sendVideo(at: second * 1000, isKeyframe: true) }
    #expect(!self.server.output.hasConsumers)
    let client = try self.server.connect()
    #expect(self.server.output.hasConsumers)
    self.server.sendVideo(at: 200_000, isKeyframe: true)
    #expect(try client.received().last == "keyframe 2000")
  }

  @Test func `an event loop that stands still is sent no more than sixty frames, and then a keyframe`() throws {
    let client = try self.playing()
    for number in Int64(0)..<60 { self.server.queueVideo(at: 1033 + number) }
    // Four frames are sent in a turn, with pauses between them.
    self.server.loop.run()
    #expect(try client.received() == (2033..<2037).map { "frame \($0)" })
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(try client.received() == (2037..<2093).map { "frame \($0)" })
    #expect(self.server.output.statistics.framesSkipped == 0)
    let requests = self.server.stream.statistics.keyframeRequests
    for number in Int64(0)..<1000 { self.server.queueVideo(at: 2000 + number) }
    self.server.loop.run()
    #expect(try client.received() == [])
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    #expect(self.server.output.statistics.framesSkipped == 1000)
    self.server.sendVideo(at: 3033)
    self.server.sendVideo(at: 3067, isKeyframe: true)
    self.server.sendVideo(at: 3100)
    #expect(try client.received() == ["keyframe 4067", "frame 4100"])
    #expect(self.server.output.statistics.framesSkipped == 1001)
  }

  @Test func `video that waits while privacy is switched on is dropped, a viewer with unsent data is closed`() throws {
    let (prompt, slow) = (try self.server.connect(), try self.server.connect())
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = (try prompt.received(), try slow.received())
    slow.setWritable(false)
    self.server.queueVideo(at: 1033)
    self.server.output.discardEarlier()
    self.server.loop.run()
    #expect(try prompt.received() == [])
    #expect(prompt.isOpen && !slow.isOpen)
    self.server.sendVideo(at: 1067, isKeyframe: true)
    #expect(try prompt.received() == ["keyframe 2067"])
    #expect(self.server.output.statistics.viewers == 1)
  }

  @Test func `counters have the viewers, and the bytes of all of them`() throws {
    #expect(self.server.output.statistics == ViewerStatistics())
    let clients = [try self.playing(), try self.playing(), try self.playing()]
    for client in clients { _ = try client.received() }
    let (before, lengths) = (self.server.output.statistics, clients.map(\.bytes.readableBytes))
    #expect(before.viewers == 3)
    self.server.sendVideo(at: 5000)
    self.server.sendAudio(at: 5010)
    for client in clients { try client.run() }
    let received = zip(clients, lengths).map { $0.bytes.readableBytes - $1 }
    #expect(received[0] > 0 && Set(received).count == 1)
    #expect(self.server.output.statistics.bytesSent - before.bytesSent == received.reduce(0, +))
    for (index, client) in clients.enumerated() {
      try client.channel.close().wait()
      self.server.loop.run()
      #expect(self.server.output.statistics.viewers == 2 - index)
    }
    #expect(!self.server.output.hasConsumers)
  }

  @Test func `a description that is the same changes nothing, another one precedes the next keyframe once`() throws {
    let client = try self.playing()
    self.server.output.descriptionChanged(to: .h264(EmbeddedRTMPServer.h264))
    self.server.output.descriptionChanged(to: EmbeddedRTMPServer.aac)
    self.server.sendVideo(at: 1033, isKeyframe: true)
    #expect(try client.received() == ["keyframe 2033"])
    self.server.output.descriptionChanged(
      to: .aac(
        AACDescription(audioSpecificConfig: [0x12, 0x10], format: AudioFormat(sampleRate: 44_100, channelCount: 2))))
    self.server.sendAudio(at: 1040)
    self.server.sendVideo(at: 1067, isKeyframe: true)
    self.server.sendVideo(at: 1100, isKeyframe: true)
    #expect(
      try client.received() == ["audio 2040", "onMetaData 0", "AVC 2067", "AAC 2067", "keyframe 2067", "keyframe 2100"])
  }

  @Test func `the end of the stream closes viewers that play, that wait, and that are slow`() throws {
    let (playing, slow) = (try self.server.connect(), try self.server.connect())
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = (try playing.received(), try slow.received())
    let waiting = try self.server.connect()
    slow.setWritable(false)
    self.server.sendVideo(at: 1033)
    self.server.output.streamEnded()
    self.server.loop.advanceTime(by: .seconds(12))
    #expect(try playing.received() == ["frame 2033"])
    #expect(!playing.isOpen && !waiting.isOpen && !slow.isOpen)
    #expect(self.server.directory.output(of: self.server.stream.main) == nil)
    #expect(try !self.server.connect().isStreaming)
  }

  @Test(arguments: 0..<12) func `no client stays connected whose stream ends while it asks for it`(steps: Int) throws {
    let server = try EmbeddedRTMPServer()
    let channel = EmbeddedChannel(loop: server.loop)
    try channel.pipeline.syncOperations.addHandler(server.makeHandler())
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
    let client = try EmbeddedRTMPClient(channel: channel, url: RTMPURL(parsing: "rtmp://h/live/hello"), .play)
    for _ in 0..<steps { try client.step() }
    server.output.streamEnded()
    try client.run()
    server.loop.advanceTime(by: .seconds(2))
    try client.run()
    #expect(!client.isOpen, "after \(steps) steps")
  }
}

@Suite("Tracks of a stream as RTMP messages")
struct RTMPStreamPacketizerTests {
  private static func video(at milliseconds: Int64, isKeyframe: Bool = false) -> EncodedSample {
    EncodedSample(
      kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]),
      presentationTime: .zero + .milliseconds(milliseconds), duration: .milliseconds(33), isKeyframe: isKeyframe)
  }

  private static func audio(at milliseconds: Int64) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(bytes: [1, 2, 3]), presentationTime: .zero + .milliseconds(milliseconds),
      duration: .milliseconds(21), isKeyframe: true)
  }

  @Test func `a keyframe can be the start of a viewer, other samples of a stream with video cannot`() throws {
    var tracks = RTMPStreamPacketizer([.h264(EmbeddedRTMPServer.h264), EmbeddedRTMPServer.aac])
    #expect(tracks.hasVideo)
    let samples = [Self.video(at: 0), Self.audio(at: 10), Self.video(at: 33, isKeyframe: true), Self.audio(at: 40)]
    let packets = samples.flatMap { tracks.packets(of: $0) }
    #expect(packets.map(\.kind) == [.video, .audio, .video, .audio])
    #expect(packets.map(\.isKeyframe) == [false, false, true, false])
    #expect(packets.map { $0.preamble != nil } == [false, false, true, false])
    #expect(packets.allSatisfy { $0.byteCount == $0.bytes.readableBytes && $0.byteCount > 12 })
  }

  @Test func `without video every audio frame can be the start of a viewer`() {
    var tracks = RTMPStreamPacketizer([EmbeddedRTMPServer.aac])
    #expect(!tracks.hasVideo)
    let packets = [0, 21, 43].flatMap { tracks.packets(of: Self.audio(at: $0)) }
    #expect(packets.count == 3)
    #expect(packets.allSatisfy { $0.kind == .audio && !$0.isKeyframe && $0.preamble != nil })
  }

  @Test func `a change is in the keyframe of all viewers, once, and none before the first sample`() throws {
    var tracks = RTMPStreamPacketizer([.h264(EmbeddedRTMPServer.h264)])
    var changed = EmbeddedRTMPServer.h264
    changed.pictureParameterSet = [0x68, 0xCF]
    tracks.change(to: .h264(changed))
    let first = try #require(tracks.packets(of: Self.video(at: 0, isKeyframe: true)).first)
    #expect(first.preamble != nil, "viewers that come later start with it")
    tracks.change(to: .h264(EmbeddedRTMPServer.h264))
    let dependent = try #require(tracks.packets(of: Self.video(at: 33)).first)
    let second = try #require(tracks.packets(of: Self.video(at: 67, isKeyframe: true)).first)
    let third = try #require(tracks.packets(of: Self.video(at: 100, isKeyframe: true)).first)
    #expect(dependent.preamble == nil && second.preamble == nil && third.preamble != nil)
    #expect(second.byteCount > first.byteCount && third.byteCount == first.byteCount)
    // A track that the stream does not have is none.
    tracks.change(to: EmbeddedRTMPServer.aac)
    #expect(tracks.descriptions == [.h264(EmbeddedRTMPServer.h264)])
  }
}
