import Authentication
import Media
import NIOCore
import NIOEmbedded
import RTP
import RTSP
import Serving
import Streaming
import Testing

@testable import RTSPServer

/// A server without sockets: one published stream, connections and virtual time of an embedded event loop.
struct EmbeddedServer {
  static let descriptions: [CodecDescription] = [
    .h264(
      H264Description(
        sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
        frameRate: 30)),
    .aac(AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))),
  ]

  let loop = EmbeddedEventLoop()
  let stream = LiveStream("live")
  let directory: RTSPDirectory
  let output: RTPOutput
  let access: AccessControl
  private let registry: ConnectionRegistry?

  /// - Parameter registry: Where its connections are registered; nil for nowhere.
  init(settings: AccessSettings = AccessSettings(), registry: ConnectionRegistry? = nil) throws {
    self.registry = registry
    self.access = AccessControl(settings: settings, makeRandom: { 1 })
    self.directory = RTSPDirectory(eventLoops: [self.loop])
    self.directory.outputs.serve(self.stream, descriptions: Self.descriptions)
    self.output = try #require(self.directory.outputs.output(of: self.stream.main))
  }

  var statistics: ViewerStatistics { self.output.statistics }

  /// The server's end of a connection.
  func makeHandler(
    udpPorts: RTSPTransport.Pair<UInt16>? = nil, registration: ConnectionRegistry.Registration? = nil
  ) -> RTSPConnectionHandler {
    RTSPConnectionHandler(
      RTSPServerConfiguration(serverName: "Vidicon", access: self.access, udpPorts: udpPorts), self.directory,
      .init(
        access: self.access, passwords: PasswordChecker(access: self.access),
        connections: self.directory.outputs.connections, eventLoop: self.loop, registration: registration,
        protocolName: "rtsp"))
  }

  /// A client that has sent nothing.
  ///
  /// - Parameter udpPorts: The server's ports; nil without UDP.
  func connect(udpPorts: RTSPTransport.Pair<UInt16>? = nil) throws -> EmbeddedClient {
    let channel = EmbeddedChannel(loop: self.loop)
    let closing: any Channel = channel
    let registration = self.registry?.register(from: nil) { closing.close(promise: nil) }
    try channel.pipeline.syncOperations.addHandler(self.makeHandler(udpPorts: udpPorts, registration: registration))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
    return EmbeddedClient(channel: channel)
  }

  /// A client that has set up both tracks and sent PLAY; its responses are read, except the response to PLAY.
  func connectAndPlay() throws -> EmbeddedClient {
    let client = try self.connect()
    try client.setUp(track: 0, channels: "0-1")
    try client.setUp(track: 1, channels: "2-3")
    #expect(try client.received() == ["200", "200"])
    try client.send("PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 9\r\n\r\n")
    return client
  }

  /// A client that has played its first keyframe.
  func connectAndStart() throws -> EmbeddedClient {
    let client = try self.connectAndPlay()
    self.sendKeyframe()
    #expect(try client.received() == ["200", "SR 1", "SR 3", "RTP 0", "RTP 0"])
    self.waitForSecondTrack()
    return client
  }

  /// The time after which a viewer is sent what follows its first access unit.
  func waitForSecondTrack() {
    self.loop.advanceTime(by: .nanoseconds(RTPViewer.trackDistance.nanoseconds + 5_000_000))
  }

  /// The encoder's next keyframe: two packets, since parameter sets precede it.
  func sendKeyframe() { self.send(.video, [0, 0, 0, 2, 0x65, 0x80], isKeyframe: true) }

  /// A frame that depends on the one before it: one packet.
  func sendFrame() { self.send(.video, [0, 0, 0, 2, 0x41, 0x80], isKeyframe: false) }

  /// A frame that waits for the event loop.
  func queueFrame() { self.enqueue(.video, [0, 0, 0, 2, 0x41, 0x80], isKeyframe: false) }

  /// Time that audio waits for the next access unit.
  static let audioWait = TimeAmount.nanoseconds(33_333_334)

  /// An AAC frame, and the time that it waits: one packet.
  func sendAudio() {
    self.queueAudio()
    self.loop.advanceTime(by: Self.audioWait)
  }

  /// An AAC frame that waits for the next access unit.
  func queueAudio() { self.enqueue(.audio, [1, 2, 3], isKeyframe: true) }

  private func send(_ kind: MediaKind, _ payload: [UInt8], isKeyframe: Bool) {
    self.enqueue(kind, payload, isKeyframe: isKeyframe)
    self.loop.run()
  }

  private func enqueue(_ kind: MediaKind, _ payload: [UInt8], isKeyframe: Bool) {
    self.output.consume(
      EncodedSample(
        kind: kind, payload: ByteBuffer(bytes: payload), presentationTime: .zero, duration: .milliseconds(20),
        isKeyframe: isKeyframe))
  }
}

/// The client's end of an embedded connection.
struct EmbeddedClient {
  let channel: EmbeddedChannel

  var isOpen: Bool { self.channel.isActive }

  func send(_ text: String) throws {
    try self.channel.writeInbound(ByteBuffer(string: text))
    self.channel.embeddedEventLoop.run()
  }

  /// Sends a packet within the connection, RFC 2326 §10.12.
  func sendInterleaved(_ packet: ByteBuffer, channel: UInt8) throws {
    var buffer = ByteBuffer(bytes: [UInt8(ascii: "$"), channel])
    buffer.writeInteger(UInt16(packet.readableBytes))
    buffer.writeImmutableBuffer(packet)
    try self.channel.writeInbound(buffer)
    self.channel.embeddedEventLoop.run()
  }

  func setUp(track: Int, channels: String) throws {
    try self.send(
      "SETUP rtsp://h/live/trackID=\(track) RTSP/1.0\r\nCSeq: 1\r\n"
        + "Transport: RTP/AVP/TCP;unicast;interleaved=\(channels)\r\n\r\n")
  }

  /// Changes what the socket would report: whether the write buffer is below its mark.
  func setWritable(_ isWritable: Bool) {
    self.channel.isWritable = isWritable
    self.channel.pipeline.fireChannelWritabilityChanged()
    self.channel.embeddedEventLoop.run()
  }

  /// All messages sent since the last call.
  func messages() throws -> [RTSPMessage] {
    var parser = RTSPMessageParser()
    while let buffer = try self.channel.readOutbound(as: ByteBuffer.self) { parser.append(buffer) }
    var messages: [RTSPMessage] = []
    while let message = parser.next() { messages.append(message) }
    return messages
  }

  /// The messages since the last call, in short: a status, "RTP channel", "SR channel", "BYE channel".
  func received() throws -> [String] {
    try self.messages().map { message in
      switch message {
      case .response(let response): return "\(response.status.code)"
      case .interleaved(let channel, let payload) where channel % 2 == 0:
        _ = try RTPPacket(parsing: payload)
        return "RTP \(channel)"
      case .interleaved(let channel, let payload):
        let packets = try RTCPCompoundPacket(parsing: payload).packets
        if case .goodbye = packets.last { return "BYE \(channel)" }
        return packets.first?.type == 200 ? "SR \(channel)" : "RTCP \(channel)"
      case .request, .malformed: return "?"
      }
    }
  }
}

/// A connection that takes one write, and no more before ``drain(_:)``.
final class SlowLink: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  var isSlow = true

  func flush(context: ChannelHandlerContext) {
    context.flush()
    guard self.isSlow, let channel = context.channel as? EmbeddedChannel else { return }
    channel.isWritable = false
    channel.pipeline.fireChannelWritabilityChanged()
  }

  func drain(_ client: EmbeddedClient) {
    if !client.channel.isWritable { client.setWritable(true) }
  }
}
