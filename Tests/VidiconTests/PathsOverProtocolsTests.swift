import Foundation
import Media
import NIOCore
import NIOPosix
import RTMP
import TestSupport
import Testing
import Vidicon

/// A path is one question, whatever asks it.
@Suite("Paths over every protocol")
struct PathsOverProtocolsTests {
  enum AddressKind: CaseIterable { case rtsp, rtmp, webRTC, hls }

  /// Paths, and whether they name something while `ended` has ended.
  static let paths: [(path: String, isFound: Bool)] = [
    ("camera", true), ("camera/main", true), ("camera/low", true), ("main", true), ("low", true),
    ("k\u{FC}che/gr\u{F6}\u{DF}e", true), ("ku\u{308}che/gro\u{308}\u{DF}e", true),
    ("k\u{FC}che/gr\u{F6}\u{DF}e/main", true), ("ku\u{308}che/gro\u{308}\u{DF}e/low", true),
    ("none", false), ("camera/none", false), ("none/main", false), ("none/low", false), ("camera/main/main", false),
    ("plain", true), ("plain/main", true), ("plain/low", false), ("plain/main/main", false),
    ("camera/low/low", false), ("camer", false), ("camera/mai", false), ("gr\u{F6}\u{DF}e", false),
    ("k\u{FC}che", false),
    ("CAMERA", false), ("ended", false), ("ended/main", false), ("ended/low", false),
  ]

  /// A stream with a rendition, unless it is plain.
  private static func stream(_ name: String) -> LiveStream {
    let low = RenditionSettings(name: "low", width: 64, height: 36, bitrate: 100_000)
    let renditions = name == "plain" ? [] : [low]
    let stream = LiveStream(
      name, video: VideoSettings(width: 128, height: 72, frameRate: 10, renditions: .list(renditions)))
    stream.attachVideo(BarsCapturer(width: 128, height: 72))
    return stream
  }

  @Test(.timeLimit(.minutes(5)), arguments: AddressKind.allCases)
  func `streams, renditions, main ones, bare names and what is none are the same`(kind: AddressKind) async throws {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    // Segments of what has ended stay, however long the test takes.
    settings.http?.limits.viewerIdleTime = .seconds(3600)
    settings.rtmp = RTMPServerSettings(port: 0)
    settings.rtmp?.address = "127.0.0.1"
    settings.webRTC = WebRTCServerSettings(port: 0)
    settings.webRTC?.address = "127.0.0.1"
    let server = CameraServer(settings: settings)
    try await server.start()
    let ports = try #require(server.ports)
    let streams = ["camera", "k\u{FC}che/gr\u{F6}\u{DF}e", "ended", "plain"].map { Self.stream($0) }
    for stream in streams { try await server.serve(stream) }
    // Players finish what has ended over HLS: its segments stay.
    let kept = kind == .hls ? ["ended", "ended/main", "ended/low"] : []
    for path in kept { #expect(try await Self.finds(path, over: kind, ports), "\(path)") }
    await streams[2].stop()
    for (path, isFound) in Self.paths {
      #expect(try await Self.finds(path, over: kind, ports) == (isFound || kept.contains(path)), "\(path)")
    }
    await server.stop()
  }

  /// Whether a path names something.
  private static func finds(_ path: String, over kind: AddressKind, _ ports: CameraServerPorts) async throws -> Bool {
    let address = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
    let http = try #require(ports.http)
    switch kind {
    case .rtsp:
      return try await Self.answer(
        to: "DESCRIBE rtsp://127.0.0.1/\(address) RTSP/1.0\r\nCSeq: 1\r\n\r\n", port: ports.rtsp) == 200
    case .rtmp:
      return try await Self.plays("rtmp://127.0.0.1/live/\(address)", port: try #require(ports.rtmp)) == true
    case .webRTC: return try await Self.answer(toOfferAt: "/\(address)/whep", port: http) == 201
    case .hls:
      return try await Self.answer(
        to: "GET /\(address)/live.m3u8 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", port: http) == 200
    }
  }

  /// Runs a dialogue over a connection until it has a value, or the server closes.
  ///
  /// - Parameter make: Makes the dialogue, on the event loop of the connection.
  private static func dialogue<Value: Sendable>(
    port: Int, _ make: @escaping @Sendable () -> Dialogue<Value>
  ) async throws -> Value? {
    let group = MultiThreadedEventLoopGroup.singleton
    let result = group.next().makePromise(of: Value?.self)
    do {
      _ = try await ClientBootstrap(group: group)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(DialogueHandler(make(), result: result))
          }
        }
        .connect(host: "127.0.0.1", port: port).get()
    } catch {
      result.fail(error)
    }
    return try await result.futureResult.get()
  }

  /// The status of the response to a request of RTSP or HTTP, which is sent again while the server says that it has no media yet: a busy
  /// machine may encode none in the two or three seconds that a request waits.
  private static func answer(to request: String, port: Int) async throws -> Int? {
    var status: Int?
    for _ in 0..<20 {
      status = try await Self.status(of: request, port: port)
      if status != 503 && status != 504 { break }
    }
    return status
  }

  private static func status(of request: String, port: Int) async throws -> Int? {
    try await Self.dialogue(port: port) {
      var text = ""
      return Dialogue(first: ByteBuffer(string: request)) { bytes in
        text += String(buffer: bytes)
        return (nil, text.contains("\r\n") ? text.split(separator: " ").dropFirst().first.flatMap { Int($0) } : nil)
      }
    }
  }

  private static func answer(toOfferAt path: String, port: Int) async throws -> Int? {
    let offer = [
      "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=ice-ufrag:clnt",
      "a=ice-pwd:client0password0client", "a=setup:actpass",
      "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":"),
      "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux",
      "a=rtpmap:96 H264/90000", "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "",
    ].joined(separator: "\r\n")
    return try await Self.answer(
      to: "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sdp\r\nConnection: close\r\n"
        + "Content-Length: \(offer.utf8.count)\r\n\r\n\(offer)", port: port)
  }

  /// Whether the server plays what an address of RTMP names.
  private static func plays(_ url: String, port: Int) async throws -> Bool? {
    let url = try RTMPURL(parsing: url)
    return try await Self.dialogue(port: port) {
      let player = RTMPPlayer(url)
      return Dialogue(first: player.start()) { player.receive($0) }
    }
  }
}

/// The client's side of a connection, on its event loop: what it sends first, and what follows the bytes of the server. The dialogue
/// ends with a value.
private struct Dialogue<Value> {
  var first: ByteBuffer
  var receive: (ByteBuffer) -> (answer: ByteBuffer?, value: Value?)
}

/// Performs a dialogue. A server closes a connection that sends nothing for some seconds; a task might not write in time while other
/// tests keep the threads of tasks busy, an event loop does.
private final class DialogueHandler<Value: Sendable>: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let dialogue: Dialogue<Value>
  private let result: EventLoopPromise<Value?>
  private var limit: Scheduled<Void>?

  /// - Parameter result: Completed with the value, or nil when the server closes, or has not answered in five minutes.
  init(_ dialogue: Dialogue<Value>, result: EventLoopPromise<Value?>) {
    self.dialogue = dialogue
    self.result = result
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    self.limit = context.eventLoop.scheduleTask(in: .minutes(5)) { channel.close(promise: nil) }
    context.writeAndFlush(self.wrapOutboundOut(self.dialogue.first), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let (answer, value) = self.dialogue.receive(self.unwrapInboundIn(data))
    if let value {
      // Without effect on a dialogue that has its value.
      self.result.succeed(value)
      context.close(promise: nil)
    } else if let answer {
      context.writeAndFlush(self.wrapOutboundOut(answer), promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.limit?.cancel()
    self.result.succeed(nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    self.result.fail(error)
    context.close(promise: nil)
  }
}

/// A client of RTMP that plays.
private final class RTMPPlayer {
  private var session: RTMPClientSession

  init(_ url: RTMPURL) {
    self.session = RTMPClientSession(url: url, purpose: .play, now: .zero, makeRandom: { 7 })
  }

  func start() -> ByteBuffer {
    Self.perform(self.session.start(now: .zero)).answer ?? ByteBuffer()
  }

  func receive(_ bytes: ByteBuffer) -> (answer: ByteBuffer?, value: Bool?) {
    Self.perform(self.session.receive(bytes, now: .zero))
  }

  /// The bytes that the actions send, and whether the session has begun or ended.
  private static func perform(_ actions: [RTMPClientSession.Action]) -> (answer: ByteBuffer?, value: Bool?) {
    var (answer, value) = (ByteBuffer(), Bool?.none)
    for action in actions {
      switch action {
      case .send(let buffer): answer.writeImmutableBuffer(buffer)
      case .started: value = true
      case .close: value = false
      default: break
      }
    }
    return (answer, value)
  }
}
