import Media
import NIOCore
import NIOPosix
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing

@Suite("Viewers on real sockets that get the same bytes", .timeLimit(.minutes(5)))
struct ConnectionViewerTests {
  /// Bytes that a client has received, one element for each read.
  private final class Reads: Sendable {
    private let all = Mutex<[ByteBuffer]>([])

    var count: Int { self.all.withLock(\.count) }

    var bytes: [UInt8] { self.all.withLock { $0.flatMap { Array($0.readableBytesView) } } }

    func append(_ bytes: ByteBuffer) { self.all.withLock { $0.append(bytes) } }

    func removeAll() { self.all.withLock { $0.removeAll() } }
  }

  private final class Reader: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let reads: Reads
    init(_ reads: Reads) { self.reads = reads }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.reads.append(self.unwrapInboundIn(data)) }
  }

  private static func connect(to server: ToyServer) async throws -> Reads {
    let reads = Reads()
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Reader(reads)) }
      }
      .connect(host: "127.0.0.1", port: try #require(server.ports?.plain)).get()
    try await channel.writeAndFlush(ByteBuffer(string: "live\n"))
    return reads
  }

  private static let description = H264Description(
    sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68, 2], width: 64, height: 48, frameRate: 25)
  private static let keyframe: [UInt8] = [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 2, 0, 0, 0, 1, 0x65, 3]

  private static func frame(_ number: UInt8) -> [UInt8] { [0, 0, 0, 1, 0x41, number] }

  /// A sample of one NAL unit.
  private static func sample(_ unit: [UInt8]) -> EncodedSample {
    EncodedSample(
      kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, UInt8(unit.count)] + unit), presentationTime: .zero,
      duration: .milliseconds(40), isKeyframe: unit[0] == 0x65)
  }

  @Test func `frames that have waited for the event loop leave in one write for a viewer that plays, others start`()
    async throws
  {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let server = ToyServer(group: group)
    let stream = LiveStream("live")
    server.outputs.serve(stream, descriptions: [.h264(Self.description)])
    let output = try #require(server.outputs.output(of: stream.main))
    try await server.start()
    // On the event loop, which sends only when all of them wait.
    func consume(_ units: [[UInt8]]) async throws {
      try await group.next().submit { for unit in units { output.consume(Self.sample(unit)) } }.get()
    }
    let first = try await Self.connect(to: server)
    try await eventually { output.statistics.viewers == 1 }
    try await consume([[0x65, 3]])
    try await eventually { first.bytes == Self.keyframe }
    first.removeAll()
    let second = try await Self.connect(to: server)
    try await eventually { output.statistics.viewers == 2 }

    try await consume([[0x41, 4], [0x65, 3], [0x41, 5]])
    let sent = Self.frame(4) + Self.keyframe + Self.frame(5)
    try await eventually { first.bytes.count >= sent.count && second.bytes.count >= sent.count - Self.frame(4).count }
    #expect(first.bytes == sent && first.count == 1)
    #expect(second.bytes == Self.keyframe + Self.frame(5))
    let byteCount = Self.keyframe.count + first.bytes.count + second.bytes.count
    try await eventually { output.statistics.bytesSent == byteCount }
    await server.stop()
    try await group.shutdownGracefully()
  }
}
