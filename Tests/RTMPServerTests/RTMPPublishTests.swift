import Authentication
import Capture
import Media
import MediaInput
import NIOCore
import NIOEmbedded
import RTMP
import Streaming
import TestSupport
import Testing
import Threading

@testable import RTMPServer

@Suite("Publishing over RTMP")
struct RTMPPublishTests {
  private static let key = "0123456789abcdef0123"
  private let server: EmbeddedRTMPServer
  private let clock = ManualClock()
  private let source: PublishedSource
  private let consumer = Consumer()

  /// Counts the samples of a source.
  private final class Consumer: VideoConsumer {
    let count = Monitor(0)
    let reason = Monitor<VidiconError?>(nil)

    func consume(_ frame: VideoFrame) {}
    func consume(_ sample: EncodedSample, of description: CodecDescription) { self.count.withLock { $0 += 1 } }
    func captureEnded(_ error: VidiconError?) {}
    func captureWaits(_ reason: VidiconError) { self.reason.withLock { $0 = reason } }

    /// Waits for the reason why there is no frame.
    func waitForReason() -> VidiconError? {
      self.reason.wait(until: StreamClock.system.now() + .seconds(300)) { $0 }
    }

    func wait(for number: Int) -> Bool {
      self.count.wait(until: StreamClock.system.now() + .seconds(300)) { $0 >= number ? true : nil } ?? false
    }
  }

  init() throws {
    self.source = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2)
    ) { [clock] in clock.now }
    var settings = AccessSettings()
    settings.tokens = [
      try #require(AccessToken(parsing: Self.key, role: .publisher(stream: "hello"))),
      try #require(AccessToken(parsing: "viewer-0123456789", role: .viewer)),
    ]
    settings.users = [Credentials(user: "anna", password: "secret", role: .operator)]
    self.server = try EmbeddedRTMPServer(settings: settings)
    self.server.stream.attachVideo(self.source.video)
  }

  /// High profile, level 3.1, 1280×720.
  private static let h264 = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [
        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
        0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
      ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30))

  /// The configuration and a number of frames, the first of which is a keyframe.
  private static func messages(_ frameCount: Int) -> [RTMPMessage] {
    let packetizer = RTMPPacketizer([Self.h264], epoch: .zero)
    let frames = (0..<frameCount).compactMap { (index: Int) -> RTMPMessage? in
      let bytes: [UInt8] = [0, 0, 0, 2, index == 0 ? 0x65 : 0x41, 0x80]
      let time = MediaTime.zero + .milliseconds(Int64(33 * index))
      return packetizer.packetize(
        EncodedSample(
          kind: .video, payload: ByteBuffer(bytes: bytes), presentationTime: time, duration: .zero,
          isKeyframe: index == 0))
    }
    return packetizer.preamble(at: .zero) + frames
  }

  @Test(arguments: [
    "rtmp://h/hello/\(Self.key)", "rtmp://h/live/hello/\(Self.key)", "rtmp://h/live/hello?key=\(Self.key)",
    "rtmp://h/live/hello?token=\(Self.key)", "rtmp://h/live/hello?user=anna&pass=secret",
  ])
  func `a publisher with the stream's key sends its video into the source`(url: String) throws {
    try self.source.video.start(consumer: self.consumer)
    defer { self.source.video.stop() }
    let client = try self.server.connect(url, .publish)
    #expect(client.isStreaming)
    try client.publish(Self.messages(3))
    #expect(self.consumer.wait(for: 3))
  }

  @Test(arguments: [
    ("rtmp://h/hello/0123456789abcdef0124", "Failed", RefusalReason.failedLogin),
    ("rtmp://h/live/hello", "Failed", .unauthorized), ("rtmp://h/hello/viewer-0123456789", "Failed", .forbidden),
  ])
  func `a wrong key is refused and counted`(url: String, code: String, reason: RefusalReason) throws {
    let client = try self.server.connect(url, .publish)
    #expect(!client.isOpen && client.failure?.code == "NetStream.Publish.\(code)")
    #expect(self.server.access.refusals[reason] == 1)
  }

  @Test func `a second publisher is refused while the first sends, and takes over when it is gone`() throws {
    let url = "rtmp://h/hello/\(Self.key)"
    let first = try self.server.connect(url, .publish)
    #expect(try self.server.connect(url, .publish).failure?.code == "NetStream.Publish.BadName")
    try first.channel.close().wait()
    self.server.loop.run()
    #expect(try self.server.connect(url, .publish).isStreaming)
  }

  @Test func `a publisher whose messages yield no media yet is not displaced, a silent one is after two seconds`()
    throws
  {
    let url = "rtmp://h/hello/\(Self.key)"
    let first = try self.server.connect(url, .publish)
    // No configuration, so that nothing of it can be decoded.
    let frame = RTMPMessage(
      type: .video, streamID: 1, payload: ByteBuffer(bytes: [0x27, 1, 0, 0, 0, 0, 0, 0, 2, 0x41, 0x80]))
    for _ in 0..<4 {
      self.clock.advance(by: .milliseconds(1500))
      try first.publish([frame])
    }
    self.clock.advance(by: .milliseconds(1900))
    #expect(try self.server.connect(url, .publish).failure?.code == "NetStream.Publish.BadName")
    self.clock.advance(by: .milliseconds(200))
    #expect(try self.server.connect(url, .publish).isStreaming)
    // The first one has lost the stream, and learns it with its next message.
    try first.publish([frame])
    #expect(!first.isOpen)
  }

  @Test func `a stream with another source takes no publisher`() throws {
    self.server.stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: 30))
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    #expect(client.failure?.code == "NetStream.Publish.Rejected")
  }

  @Test func `a stream that shows another source for now takes a publisher to the source that it keeps`() throws {
    self.server.stream.setStandbyVideos([self.source.video])
    self.server.stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: 30))
    let url = "rtmp://h/hello/\(Self.key)"
    let client = try self.server.connect(url, .publish)
    #expect(client.isStreaming)
    #expect(try self.server.connect(url, .publish).failure?.code == "NetStream.Publish.BadName")
    try client.publish(Self.messages(3))
    self.server.stream.attachVideo(self.source.video)
    try self.source.video.start(consumer: self.consumer)
    defer { self.source.video.stop() }
    try client.publish(Self.messages(2))
    #expect(self.consumer.wait(for: 2))
  }

  /// Coded frames of Enhanced RTMP, and of FLV 10.1.
  private static let otherVideo: [(payload: [UInt8], codec: String)] = [
    ([0x91] + Array("hvc1".utf8) + [0, 0, 0], "HEVC"), ([0x91] + Array("av01".utf8) + [0, 0, 0], "AV1"),
    ([0x22, 0, 0], "Sorenson H.263"), ([0x14, 0], "VP6"),
  ]

  @Test(arguments: Self.otherVideo)
  func `another codec without audio is refused with a sentence after three seconds`(
    payload: [UInt8], codec: String
  ) throws {
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    func frame(at timestamp: UInt32) -> RTMPMessage {
      RTMPMessage(type: .video, timestamp: timestamp, streamID: 1, payload: ByteBuffer(bytes: payload))
    }
    try client.publish([frame(at: 0), frame(at: 2_900)])
    #expect(client.isOpen)
    try client.publish([frame(at: 3_000)])
    #expect(!client.isOpen && client.failure?.code == "NetStream.Publish.Rejected")
    let sentence = client.failure?.description ?? ""
    #expect(sentence.contains("send H.264 and AAC") && sentence.contains(codec), "\(sentence)")
  }

  @Test(arguments: Self.otherVideo)
  func `another codec beside AAC is reported with a sentence, and the audio goes on`(
    payload: [UInt8], codec: String
  ) throws {
    let surround = try SurroundAudio()
    let audio = AudioCollector()
    try self.source.video.start(consumer: self.consumer)
    try self.source.audio.start(consumer: audio)
    defer {
      self.source.video.stop()
      self.source.audio.stop()
    }
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    let configuration = ByteBuffer(bytes: [0xAF, 0] + surround.configuration)
    // The video is the first to come.
    try client.publish([
      RTMPMessage(type: .video, streamID: 1, payload: ByteBuffer(bytes: payload)),
      RTMPMessage(type: .audio, streamID: 1, payload: configuration),
    ])
    for (index, frame) in surround.frames.enumerated() {
      // 1024 samples at 48 kHz.
      let timestamp = UInt32(index * 64 / 3)
      try client.publish([
        RTMPMessage(type: .audio, timestamp: timestamp, streamID: 1, payload: ByteBuffer(bytes: [0xAF, 1] + frame)),
        RTMPMessage(type: .video, timestamp: timestamp * 10, streamID: 1, payload: ByteBuffer(bytes: payload)),
      ])
      self.clock.advance(by: .milliseconds(21))
    }
    #expect(client.isOpen && self.server.access.refusals[.malformed] == 0)
    let blocks = audio.blocks(samples: 30_000)
    #expect(abs(blocks.tone(ofChannel: 0) - 440) < 5)
    let reason = try #require(self.consumer.waitForReason())
    #expect(reason.description.contains("video codec \(codec) is not supported; send H.264 and AAC"), "\(reason)")
  }

  /// Opus of Enhanced RTMP, and with a number that some encoders have used before it; MP3, Speex and G.711 of FLV 10.1.
  @Test(
    arguments: [
      ([0x91] + Array("Opus".utf8) + [0xFC, 0], "Opus"), ([0xDF, 1, 0xFC, 0], "Opus"), ([0x2F, 0xFF, 0xFB], "MP3"),
      ([0xB6, 0], "Speex"), ([0x72, 0xD5], "G.711"),
    ] as [([UInt8], String)])
  func `another codec of audio is refused with a sentence, and the video goes on`(
    payload: [UInt8], codec: String
  ) throws {
    let audio = AudioCollector()
    try self.source.video.start(consumer: self.consumer)
    try self.source.audio.start(consumer: audio)
    defer {
      self.source.video.stop()
      self.source.audio.stop()
    }
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    try client.publish([RTMPMessage(type: .audio, streamID: 1, payload: ByteBuffer(bytes: payload))] + Self.messages(3))
    #expect(client.isOpen && self.consumer.wait(for: 3))
    let error = audio.state.wait(until: StreamClock.system.now() + .seconds(300)) { state in
      state.ends.compactMap(\.self).first { $0.description.contains("audio codec \(codec)") }
    }
    #expect(error?.description.contains("send H.264 and AAC") == true)
  }

  @Test func `AAC whose channels a program config element describes is mixed down to stereo`() throws {
    let surround = try SurroundAudio()
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    let configuration = ByteBuffer(bytes: [0xAF, 0] + surround.configuration)
    try client.publish([RTMPMessage(type: .audio, streamID: 1, payload: configuration)])
    for (index, frame) in surround.frames.enumerated() {
      let payload = ByteBuffer(bytes: [0xAF, 1] + frame)
      // 1024 samples at 48 kHz.
      try client.publish([
        RTMPMessage(type: .audio, timestamp: UInt32(index * 64 / 3), streamID: 1, payload: payload)
      ])
      self.clock.advance(by: .milliseconds(21))
    }
    #expect(client.isOpen && self.server.access.refusals[.malformed] == 0)
    let blocks = audio.blocks(samples: 30_000)
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) })
    #expect(abs(blocks.tone(ofChannel: 0) - 440) < 5 && abs(blocks.tone(ofChannel: 1) - 880) < 5)
  }

  @Test(arguments: [0xFF_FFFF, (8 << 20) + 1])
  func `a publisher that announces a message of more than 8 MiB is closed at once, and counted`(length: Int) throws {
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    #expect(client.isStreaming)
    // The header of a video message, and its first byte.
    var header = ByteBuffer(bytes: [6, 0, 0, 0])
    header.writeMultipleIntegers(UInt8(length >> 16), UInt16(truncatingIfNeeded: length), UInt8(9))
    header.writeInteger(UInt32(1), endianness: .little)
    header.writeInteger(UInt8(0x17))
    try client.channel.writeInbound(header)
    try client.run()
    #expect(!client.isOpen && self.server.access.refusals[.malformed] == 1)
    // Its name is free.
    #expect(try self.server.connect("rtmp://h/hello/\(Self.key)", .publish).isStreaming)
  }

  @Test func `a keyframe of 7.9 MiB is taken`() throws {
    try self.source.video.start(consumer: self.consumer)
    defer { self.source.video.stop() }
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    let packetizer = RTMPPacketizer([Self.h264], epoch: .zero)
    let length = (8 << 20) - (100 << 10)
    var payload = ByteBuffer()
    payload.writeInteger(UInt32(length))
    payload.writeInteger(UInt8(0x65))
    payload.writeRepeatingByte(0x80, count: length - 1)
    let keyframe = EncodedSample(
      kind: .video, payload: payload, presentationTime: .zero, duration: .zero, isKeyframe: true)
    let message = try #require(packetizer.packetize(keyframe))
    try client.publish(packetizer.preamble(at: .zero) + [message])
    #expect(client.isOpen && self.consumer.wait(for: 1))
    #expect(self.server.access.refusals[.malformed] == 0)
  }

  @Test func `a malformed message is counted, and the publication goes on`() throws {
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    try client.publish([RTMPMessage(type: .video, streamID: 1, payload: ByteBuffer(bytes: [0x17, 0, 0, 0, 0, 1]))])
    #expect(client.isOpen)
    #expect(self.server.access.refusals[.malformed] == 1)
  }
}
