import Authentication
import Capture
import Media
import MediaInput
import NIOCore
import NIOEmbedded
import RTMP
import Streaming
import Testing
import Threading

@testable import RTMPServer

@Suite("Publishing over RTMP")
struct RTMPPublishTests {
  private static let key = "0123456789abcdef0123"
  private let server: EmbeddedRTMPServer
  private let source = PublishedSource(
    format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
    audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2))
  private let consumer = Consumer()

  /// Counts the samples of a source.
  private final class Consumer: VideoConsumer {
    let count = Monitor(0)

    func consume(_ frame: VideoFrame) {}
    func consume(_ sample: EncodedSample, of description: CodecDescription) { self.count.withLock { $0 += 1 } }
    func captureEnded(_ error: VidiconError?) {}

    func wait(for number: Int) -> Bool {
      self.count.wait(until: StreamClock.system.now() + .seconds(20)) { $0 >= number ? true : nil } ?? false
    }
  }

  init() throws {
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

  @Test func `a stream with another source takes no publisher`() throws {
    self.server.stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: 30))
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    #expect(client.failure?.code == "NetStream.Publish.Rejected")
  }

  @Test func `another codec is refused with a sentence`() throws {
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    // Enhanced RTMP: a coded frame of HEVC.
    let hevc = RTMPMessage(
      type: .video, streamID: 1, payload: ByteBuffer(bytes: [0x91] + Array("hvc1".utf8) + [0, 0, 0]))
    try client.publish([hevc])
    #expect(!client.isOpen && client.failure?.code == "NetStream.Publish.Rejected")
    #expect(client.failure?.description.contains("send H.264 and AAC") == true)
  }

  @Test func `a malformed message is counted, and the publication goes on`() throws {
    let client = try self.server.connect("rtmp://h/hello/\(Self.key)", .publish)
    try client.publish([RTMPMessage(type: .video, streamID: 1, payload: ByteBuffer(bytes: [0x17, 0, 0, 0, 0, 1]))])
    #expect(client.isOpen)
    #expect(self.server.access.refusals[.malformed] == 1)
  }
}
