import Authentication
import Media
import NIOCore
import NIOEmbedded
import Serving
import Streaming
import Testing

@Suite("Viewers that get the same bytes over their connections", .timeLimit(.minutes(5)))
struct ConnectionOutputTests {
  /// Sends payloads unchanged; before the first, the name of the codec and how often it has changed.
  private struct Packetizer: ConnectionPacketizer {
    private var preamble: ByteBuffer
    private var changes = 0

    init(_ descriptions: [CodecDescription]) { self.preamble = ByteBuffer(string: "<\(descriptions.count)>") }

    mutating func change(to description: CodecDescription) {
      self.changes += 1
      self.preamble = ByteBuffer(string: "<changed \(self.changes)>")
    }

    func packets(of sample: EncodedSample) -> [SharedBytes] {
      [SharedBytes(sample.payload, of: sample, preamble: self.preamble)]
    }
  }

  private typealias Outputs = OutputDirectory<ConnectionOutput<Packetizer>>

  /// Plays the stream of a path at a line feed, and stops at another one.
  private final class Connection: MediaConnection {
    private let outputs: Outputs
    private(set) var found: ConnectionOutput<Packetizer>?

    init(_ outputs: Outputs, on loop: EmbeddedEventLoop) {
      let access = AccessControl(settings: .init(), makeRandom: { 1 })
      self.outputs = outputs
      super.init(
        .init(
          access: access, passwords: PasswordChecker(access: access), connections: outputs.connections, eventLoop: loop),
        maximumUnsentResponses: 0)
    }

    override func receive(_ bytes: ByteBuffer) {
      guard self.viewer == nil else { return self.stopPlaying() }
      self.find(["nothing", String(buffer: bytes)], in: self.outputs) { output in
        guard let output else { return self.closeAfterWrites() }
        self.found = output
        self.playFound()
      }
    }

    func playFound() {
      if let found { self.play(found, of: self.outputs) }
    }
  }

  private static let video = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
      frameRate: 25))
  private static let audio = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))

  private let loop = EmbeddedEventLoop()
  private let outputs: Outputs
  private let stream = LiveStream("live")

  init() {
    self.outputs = Outputs(eventLoops: [self.loop])
  }

  private func serve(_ descriptions: [CodecDescription]) throws -> ConnectionOutput<Packetizer> {
    self.outputs.serve(self.stream, descriptions: descriptions)
    return try #require(self.outputs.output(of: self.stream.main))
  }

  private func connect(_ path: String = "live") throws -> (channel: EmbeddedChannel, connection: Connection) {
    let (channel, connection) = (EmbeddedChannel(loop: self.loop), Connection(self.outputs, on: self.loop))
    try channel.pipeline.syncOperations.addHandler(connection)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
    try channel.writeInbound(ByteBuffer(string: path))
    self.loop.run()
    return (channel, connection)
  }

  /// Consumes a sample for each letter, which is its payload: "k" a keyframe, "a" audio, other letters other frames.
  private func consume(_ letters: String, by output: ConnectionOutput<Packetizer>) {
    for letter in letters {
      output.consume(
        EncodedSample(
          kind: letter == "a" ? .audio : .video, payload: ByteBuffer(string: String(letter)), presentationTime: .zero,
          duration: .milliseconds(20), isKeyframe: letter == "k"))
    }
    self.loop.run()
  }

  private func received(_ channel: EmbeddedChannel) throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  @Test func `each viewer starts at a keyframe, and gets the same bytes from there on`() throws {
    let output = try self.serve([Self.video, Self.audio])
    let first = try self.connect().channel
    self.consume("pakp", by: output)
    let second = try self.connect().channel
    self.consume("aqakr", by: output)
    #expect(try self.received(first) == "<2>kpaqakr")
    #expect(try self.received(second) == "<2>kr")
    #expect(self.outputs.statistics(of: self.stream).viewers == 2)
    #expect(self.outputs.statistics(of: self.stream).bytesSent == 15)
  }

  @Test func `a viewer that starts after a change gets what precedes the new keyframe`() throws {
    let output = try self.serve([Self.video])
    output.descriptionChanged(to: Self.video)
    let channel = try self.connect().channel
    self.consume("k", by: output)
    #expect(try self.received(channel) == "<changed 1>k")
  }

  @Test func `without video a viewer starts with the next audio`() throws {
    let output = try self.serve([Self.audio])
    let channel = try self.connect().channel
    self.consume("aa", by: output)
    #expect(try self.received(channel) == "<1>aa")
  }

  @Test func `a viewer that stops gets nothing more, keeps its connection, and may play again`() throws {
    let output = try self.serve([Self.video])
    let (channel, connection) = try self.connect()
    self.consume("k", by: output)
    try channel.writeInbound(ByteBuffer(string: "\n"))
    #expect(connection.viewer == nil && !output.hasConsumers && channel.isActive)
    self.consume("k", by: output)
    #expect(try self.received(channel) == "<1>k")
    connection.playFound()
    self.consume("pk", by: output)
    #expect(try self.received(channel) == "<1>k")
  }

  @Test func `a connection is closed after what is left of its stream, and one that plays what has ended at once`()
    throws
  {
    let output = try self.serve([Self.video, Self.audio])
    let (channel, _) = try self.connect()
    let (late, connection) = try self.connect()
    try late.writeInbound(ByteBuffer(string: "\n"))
    self.consume("k", by: output)
    output.consume(
      EncodedSample(
        kind: .audio, payload: ByteBuffer(string: "a"), presentationTime: .zero, duration: .milliseconds(20),
        isKeyframe: true))
    output.streamEnded()
    self.loop.run()
    #expect(try self.received(channel) == "<2>ka")
    #expect(!channel.isActive && late.isActive)
    connection.playFound()
    self.loop.run()
    #expect(!late.isActive && connection.viewer == nil)
    connection.playFound()
    #expect(connection.viewer == nil && !output.hasConsumers)
  }

  @Test func `a path that names nothing ends as the protocol wishes`() throws {
    _ = try self.serve([Self.video])
    let (channel, connection) = try self.connect("other")
    #expect(!channel.isActive && connection.found == nil)
  }

  @Test func `a connection that ends while it plays leaves no viewer`() throws {
    let output = try self.serve([Self.video])
    let channel = try self.connect().channel
    #expect(output.hasConsumers)
    _ = try channel.finish()
    #expect(!output.hasConsumers && self.outputs.connections.count == 0)
  }
}
