import Authentication
import Containers
import Media
import NIOCore
import NIOEmbedded
import RTMP
import Serving
import Streaming
import Testing

@testable import RTMPServer

/// A server without sockets: one published stream, connections and virtual time of an embedded event loop.
struct EmbeddedRTMPServer {
  static let h264 = H264Description(
    sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
    frameRate: 30)
  static let aac = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))

  let loop = EmbeddedEventLoop()
  let stream = LiveStream("hello")
  let directory: RTMPDirectory
  let output: ConnectionOutput<RTMPStreamPacketizer>
  let access: AccessControl
  private let registry: ConnectionRegistry?

  /// - Parameter registry: Where its connections are registered; nil for nowhere.
  init(
    _ descriptions: [CodecDescription] = [.h264(Self.h264), Self.aac], settings: AccessSettings = .init(),
    registry: ConnectionRegistry? = nil
  ) throws {
    self.registry = registry
    self.access = AccessControl(settings: settings, makeRandom: { 1 })
    self.directory = RTMPDirectory(eventLoops: [self.loop], refusals: self.access.refusals)
    self.directory.serve(self.stream, descriptions: descriptions)
    self.output = try #require(self.directory.output(of: self.stream.main))
  }

  /// The server's end of a connection.
  func makeHandler() -> RTMPConnectionHandler {
    RTMPConnectionHandler(
      self.directory,
      .init(
        access: self.access, passwords: PasswordChecker(access: self.access), connections: self.directory.connections,
        eventLoop: self.loop, registration: self.registry?.register(from: nil) {}, protocolName: "rtmp"))
  }

  /// A client of a URL, whose dialogue has run as far as it gets.
  func connect(
    _ url: String = "rtmp://h/live/hello", _ purpose: RTMPStreamRequest.Purpose = .play,
    from address: String = "127.0.0.1"
  ) throws -> EmbeddedRTMPClient {
    let channel = EmbeddedChannel(loop: self.loop)
    try channel.pipeline.syncOperations.addHandler(self.makeHandler())
    try channel.connect(to: SocketAddress(ipAddress: address, port: 5000)).wait()
    let client = try EmbeddedRTMPClient(channel: channel, url: RTMPURL(parsing: url), purpose)
    try client.run()
    return client
  }

  /// A frame of the encoder at a number of milliseconds, with the time that it waits for the event loop.
  func sendVideo(at milliseconds: Int64 = 1000, isKeyframe: Bool = false) {
    self.queueVideo(at: milliseconds, isKeyframe: isKeyframe)
    self.loop.run()
  }

  /// A frame that waits for the event loop.
  func queueVideo(at milliseconds: Int64 = 1000, isKeyframe: Bool = false) {
    self.output.consume(
      EncodedSample(
        kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]),
        presentationTime: .zero + .milliseconds(milliseconds), duration: .milliseconds(33), isKeyframe: isKeyframe))
  }

  /// An AAC frame, and the time that it waits for the next access unit.
  func sendAudio(at milliseconds: Int64 = 1000) {
    self.output.consume(
      EncodedSample(
        kind: .audio, payload: ByteBuffer(bytes: [1, 2, 3]), presentationTime: .zero + .milliseconds(milliseconds),
        duration: .milliseconds(21), isKeyframe: true))
    self.loop.advanceTime(by: .milliseconds(34))
  }
}

/// The client's end of an embedded connection.
final class EmbeddedRTMPClient {
  let channel: EmbeddedChannel
  private var session: RTMPClientSession
  /// Messages since the last call of ``received()``.
  private var messages: [RTMPMessage] = []
  /// All bytes from the server.
  private(set) var bytes = ByteBuffer()
  private(set) var failure: RTMPClientFailure?

  init(channel: EmbeddedChannel, url: RTMPURL, _ purpose: RTMPStreamRequest.Purpose) throws {
    self.channel = channel
    self.session = RTMPClientSession(url: url, purpose: purpose, now: .zero, makeRandom: { 7 })
    try self.perform(self.session.start(now: .zero))
  }

  var isOpen: Bool { self.channel.isActive }
  var isStreaming: Bool { self.session.isStreaming }

  /// Delivers the next bytes of the server, or lets the event loop run where there are none.
  func step() throws {
    guard let buffer = try self.channel.readOutbound(as: ByteBuffer.self) else {
      return self.channel.embeddedEventLoop.run()
    }
    self.bytes.writeImmutableBuffer(buffer)
    try self.perform(self.session.receive(buffer, now: .zero))
  }

  /// Delivers bytes both ways until none are left.
  func run() throws {
    self.channel.embeddedEventLoop.run()
    while let buffer = try self.channel.readOutbound(as: ByteBuffer.self) {
      self.bytes.writeImmutableBuffer(buffer)
      try self.perform(self.session.receive(buffer, now: .zero))
      self.channel.embeddedEventLoop.run()
    }
  }

  /// The bytes of the server that were not delivered, which never are.
  func takeOutput() throws -> ByteBuffer {
    var output = ByteBuffer()
    while let buffer = try self.channel.readOutbound(as: ByteBuffer.self) { output.writeImmutableBuffer(buffer) }
    return output
  }

  /// Sends messages of a publisher.
  func publish(_ messages: [RTMPMessage]) throws {
    var buffer = ByteBuffer()
    for message in messages { self.session.write(message, into: &buffer) }
    try self.channel.writeInbound(buffer)
    try self.run()
  }

  private func perform(_ actions: [RTMPClientSession.Action]) throws {
    for action in actions {
      switch action {
      case .send(let buffer): try self.channel.writeInbound(buffer)
      case .media(let message): self.messages.append(message)
      case .close(let failure): self.failure = failure
      default: break
      }
    }
  }

  /// The messages since the last call, in short: "keyframe 2000", "frame 2033", "audio 2021", "AVC 2000", "AAC 2000",
  /// "onMetaData 0".
  func received() throws -> [String] {
    try self.run()
    defer { self.messages = [] }
    return try self.messages.map { message in
      switch message.type {
      case .video:
        switch try FLVVideoTag(parsing: message.payload) {
        case .configuration: "AVC \(message.timestamp)"
        case .accessUnit(_, _, let isKeyframe): "\(isKeyframe ? "keyframe" : "frame") \(message.timestamp)"
        default: "?"
        }
      case .audio:
        if case .configuration = try FLVAudioTag(parsing: message.payload) {
          "AAC \(message.timestamp)"
        } else {
          "audio \(message.timestamp)"
        }
      default: try RTMPMetadata(parsing: message) == nil ? "?" : "onMetaData \(message.timestamp)"
      }
    }
  }

  /// Changes what the socket would report: whether the write buffer is below its mark.
  func setWritable(_ isWritable: Bool) {
    self.channel.isWritable = isWritable
    self.channel.pipeline.fireChannelWritabilityChanged()
    self.channel.embeddedEventLoop.run()
  }
}
