import Authentication
import Capture
import Foundation
import Media
import NIOCore
import NIOEmbedded
import NIOPosix
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing

@Suite("A protocol of its own, as CONTRIBUTING.md describes one", .timeLimit(.minutes(5)))
struct ToyServerTests {
  private static func withServer(
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in },
    _ body: (ToyServer, LiveStream) async throws -> Void
  ) async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    let stream = LiveStream("live", video: VideoSettings(renditions: .list([low])))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    let server = ToyServer(group: .singleton, log: log)
    try await server.start()
    server.serve(stream)
    try await body(server, stream)
    await stream.stop()
    await server.stop()
  }

  /// The frames of a path as ffmpeg decodes them.
  ///
  /// - Parameter count: Maximum number of frames; nil to go on until the server closes the connection.
  /// - Returns: Bytes of gray frames of 64 x 48.
  private static func play(_ path: String, of server: ToyServer, frames count: Int? = 20) async throws -> Data {
    try await output(
      ofShell: #"exec 3<>"/dev/tcp/127.0.0.1/$1"; echo "$2" >&3; exec ffmpeg -v error -f h264 -i - "#
        + (count.map { "-frames:v \($0) " } ?? "") + "-s 64x48 -pix_fmt gray -fps_mode passthrough -f rawvideo - <&3",
      "\(server.ports?.plain ?? 0)", path)
  }

  @Test func `ffmpeg plays a stream and its rendition over it, and is refused what is not there`() async throws {
    try await Self.withServer { server, stream in
      for path in ["live", "live/main", "live/low", ""] {
        let frames = try await Self.play(path, of: server)
        #expect(frames.count == 20 * 64 * 48, "\(path)")
        // Bars of different brightness.
        #expect(Set(frames.suffix(64 * 48)).count > 6, "\(path)")
      }
      #expect(try await Self.play("other", of: server).isEmpty)
      try await eventually { server.statistics(of: stream).viewers == 0 }
      let low = try #require(stream.renditions.first)
      #expect(server.statistics(of: stream).bytesSent > server.statistics(of: low).bytesSent)
      #expect(server.statistics(of: low).bytesSent > 0)
    }
  }

  /// Events of visits, with the cause of each end.
  private final class Visits: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { self.lines.withLock { $0 } }

    func append(_ event: ServerEvent) {
      func text(_ visit: ViewerVisit) -> String {
        "\(visit.protocolName) \(visit.stream) \(visit.rendition) \(visit.address)"
      }
      let line =
        switch event {
        case .viewerJoined(let visit): "joined \(text(visit))"
        case .viewerLeft(let visit, let duration): "left \(text(visit)) \(visit.end) \(duration > .zero)"
        case .line, .refused, .viewerFailed, .controlled: "other"
        }
      self.lines.withLock { $0.append(line) }
    }
  }

  @Test func `the beginning and the end of a viewer are events, with its address and the cause`() async throws {
    let visits = Visits()
    try await Self.withServer(log: { visits.append($0) }) { server, stream in
      _ = try await Self.play("live/low", of: server)
      _ = try await Self.play("other", of: server)
      let low = ["joined toy live low 127.0.0.1", "left toy live low 127.0.0.1 client true"]
      try await eventually { visits.all.count >= 2 }
      #expect(visits.all == low)
      async let frames = Self.play("live", of: server, frames: nil)
      try await eventually { server.statistics(of: stream).bytesSent > 0 && visits.all.count == 3 }
      await stream.stop()
      _ = try await frames
      try await eventually { visits.all.count >= 4 }
      #expect(visits.all == low + ["joined toy live main 127.0.0.1", "left toy live main 127.0.0.1 stream true"])
    }
  }

  @Test func `its viewers are disconnected when their stream ends`() async throws {
    try await Self.withServer { server, stream in
      async let frames = Self.play("live", of: server, frames: nil)
      try await eventually { server.statistics(of: stream).bytesSent > 0 }
      #expect(server.outputs.connections.count == 1)
      await stream.stop()
      try await eventually { server.outputs.connections.count == 0 }
      #expect(try await !frames.isEmpty)
      #expect(server.outputs.all.isEmpty)
    }
  }

  @Test func `a client that requests nothing in ten seconds is disconnected`() throws {
    let loop = EmbeddedEventLoop()
    let outputs = ToyServer.Outputs(eventLoops: [loop])
    let video = H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
      frameRate: 30)
    outputs.serve(LiveStream("live"), descriptions: [.h264(video)])
    let access = AccessControl(settings: .init(), makeRandom: { 1 })
    let channels = try (0..<2).map { _ in
      let channel = EmbeddedChannel(loop: loop)
      let connection = ToyConnection(
        outputs,
        .init(
          access: access, passwords: PasswordChecker(access: access), connections: outputs.connections, eventLoop: loop)
      )
      try channel.pipeline.syncOperations.addHandler(connection)
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 5000)).wait()
      return channel
    }
    try channels[1].writeInbound(ByteBuffer(string: "live\n"))
    loop.advanceTime(by: .milliseconds(9_900))
    #expect(channels.map(\.isActive) == [true, true])
    loop.advanceTime(by: .milliseconds(1_200))
    #expect(channels.map(\.isActive) == [false, true])
  }
}
