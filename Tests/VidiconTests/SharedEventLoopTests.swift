import ControlAPI
import Foundation
import HTTPServer
import NIOCore
import NIOHTTP1
import NIOPosix
import RTSP
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing
import Vidicon

@testable import RTSPServer

@Suite("RTSP and HTTP on one event loop", .timeLimit(.minutes(5)))
struct SharedEventLoopTests {
  @Test func `a request is answered while more frames come than the viewers can be sent`() async throws {
    let servers = try await SharedLoopServers()
    let frames = try await servers.connectViewers(count: 40)
    let responses = ResponseCounter()
    let client = try await servers.connect(responses, repeating: nil)
    let sender = FrameSender(servers.output)
    // By now frames wait at all times.
    try await eventually { sender.count >= 200 }
    try await client.writeAndFlush(HTTPClientRequestPart.get("/health")).get()
    try await client.writeAndFlush(HTTPClientRequestPart.end(nil)).get()
    try await eventually { responses.all > 0 || !sender.isRunning }
    #expect(sender.isRunning, "the request waited until no frames came")
    let before = frames.value
    try await eventually { frames.value > before }
    sender.stop()
    try await eventually { responses.successful == 1 }
    await servers.stop()
  }

  @Test func `frames leave while many requests for a segment are answered`() async throws {
    let servers = try await SharedLoopServers()
    let viewerCount = 10
    let frames = try await servers.connectViewers(count: viewerCount)
    let segment = try await servers.segmentPath()
    let responses = ResponseCounter()
    // Each client sends its next request as soon as it has a response: there are always requests to serve.
    for _ in 0..<64 { _ = try await servers.connect(responses, repeating: segment) }
    try await eventually { responses.successful >= 64 }
    for _ in 0..<20 {
      let (frameCount, responseCount) = (frames.value, responses.all)
      servers.output.consumeKeyframe()
      try await eventually { frames.value == frameCount + viewerCount }
      try await eventually { responses.all > responseCount }
    }
    await servers.stop()
  }

  @Test func `an event loop that stands still is seen without viewers`() async throws {
    let servers = try await SharedLoopServers()
    let release = DispatchSemaphore(value: 0)
    servers.group.next().execute { release.waitWithLimit() }
    defer { release.signal() }
    let limit = MediaDuration.milliseconds(100)
    try await eventually { servers.loopLag >= limit }
    release.signal()
    // The maximum stays for 10 s.
    #expect(servers.loopLag >= limit)
    await servers.stop()
    #expect(servers.loopLag == .zero)
  }
}

/// Both servers on one event loop, and a stream over RTSP that a test feeds.
private final class SharedLoopServers: Sendable {
  let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  let output: RTPOutput
  private let rtsp: RTSPServer
  private let http: WebServer
  private let feed = LiveStream("feed")
  private let live = LiveStream("live", video: VideoSettings(width: 64, height: 64, frameRate: 30))

  init() async throws {
    let access = AccessControl(settings: AccessSettings(), makeRandom: { .random(in: 0...UInt64.max) })
    let registry = ConnectionRegistry()
    var rtspSettings = RTSPServerSettings(port: 0)
    var httpSettings = HTTPServerSettings(port: 0)
    rtspSettings.address = "127.0.0.1"
    // Other tests may keep all cores busy for longer than the servers wait for viewers that send nothing.
    rtspSettings.sessionTimeout = .seconds(3600)
    rtspSettings.stallTimeout = .seconds(3600)
    httpSettings.address = "127.0.0.1"
    httpSettings.limits.idleTime = .seconds(3600)
    httpSettings.limits.headTime = .seconds(3600)
    httpSettings.limits.stallTime = .seconds(3600)
    httpSettings.limits.viewerIdleTime = .seconds(3600)
    self.rtsp = RTSPServer(
      rtspSettings,
      ServerEnvironment(
        access: access, passwords: PasswordChecker(access: access), group: self.group, registry: registry))
    self.http = WebServer(settings: httpSettings, access: access, group: self.group, registry: registry)
    try await self.rtsp.start()
    try await self.http.start()
    self.rtsp.directory.outputs.serve(
      self.feed,
      descriptions: [
        .h264(
          H264Description(
            sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E], pictureParameterSet: [0x68, 0xCE], width: 64, height: 48,
            frameRate: 30))
      ])
    self.output = try #require(self.rtsp.directory.outputs.output(of: self.feed.main))
  }

  var loopLag: MediaDuration { self.rtsp.statistics(of: self.feed).loopLag }

  func stop() async {
    await self.live.stop()
    await self.http.stop()
    await self.rtsp.stop()
    try? await self.group.shutdownGracefully()
  }

  /// Connects viewers, and waits until each has received a frame.
  ///
  /// - Returns: The number of frames that they have received since then.
  func connectViewers(count: Int) async throws -> FrameCounter {
    let frames = FrameCounter()
    let port = try #require(self.rtsp.ports?.plain)
    for _ in 0..<count {
      _ = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(FrameReader(frames, of: self.output))
          }
        }
        .connect(host: "127.0.0.1", port: port).get()
    }
    try await eventually { frames.viewers == count }
    return frames
  }

  /// Connects a client of HTTP that requests a path again and again, where there is one.
  func connect(_ responses: ResponseCounter, repeating path: String?) async throws -> any Channel {
    let port = try #require(self.http.ports?.http)
    return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          try channel.pipeline.syncOperations.addHandler(ResponseReader(responses, repeating: path))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
  }

  /// Serves a stream over HTTP until it has a segment, and returns the path of that. The segment stays, since the stream has ended: one
  /// that goes on would have other segments soon, on a busy machine before any response.
  func segmentPath() async throws -> String {
    self.live.attachVideo(PlasmaCapturer(width: 64, height: 64))
    try await self.live.start()
    self.http.serve(self.live)
    let responses = ResponseCounter()
    let client = try await self.connect(responses, repeating: nil)
    try await client.writeAndFlush(HTTPClientRequestPart.get("/live/playlist.m3u8")).get()
    try await client.writeAndFlush(HTTPClientRequestPart.end(nil)).get()
    try await eventually { responses.all == 1 }
    let segment = try #require(responses.text.split(separator: "\n").first { $0.hasSuffix(".ts") })
    self.http.stopServing(self.live)
    await self.live.stop()
    return "/live/\(segment)"
  }
}

extension RTPOutput {
  /// Consumes a keyframe of two packets.
  ///
  /// - Parameter isOpening: Whether it is one with which viewers begin, and which is not counted.
  fileprivate func consumeKeyframe(isOpening: Bool = false) {
    let end = isOpening ? FrameReader.openingEnd : FrameReader.countedEnd
    self.consume(
      EncodedSample(
        kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 2, 0x65, end]), presentationTime: .zero,
        duration: .milliseconds(33), isKeyframe: true))
  }
}

extension HTTPClientRequestPart {
  fileprivate static func get(_ path: String) -> HTTPClientRequestPart {
    .head(HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: ["Host": "localhost"]))
  }
}

/// Consumes keyframes on a thread of its own as fast as it can, until it is stopped, for at most five minutes.
private final class FrameSender: Sendable {
  private let isStopped = Atomic(false)
  private let consumed = Atomic(0)
  private let hasEnded = Atomic(false)

  init(_ output: RTPOutput) {
    Thread.detachNewThread {
      let end = ContinuousClock.now + .seconds(300)
      while !self.isStopped.load(ordering: .relaxed), ContinuousClock.now < end {
        output.consumeKeyframe()
        self.consumed.add(1, ordering: .relaxed)
      }
      self.hasEnded.store(true, ordering: .releasing)
    }
  }

  var count: Int { self.consumed.load(ordering: .relaxed) }
  var isRunning: Bool { !self.hasEnded.load(ordering: .acquiring) }
  func stop() { self.isStopped.store(true, ordering: .relaxed) }
}

/// Number of frames that all viewers of a test have received, and of viewers that have received their first one.
private final class FrameCounter: Sendable {
  let count = Atomic(0)
  let viewerCount = Atomic(0)
  var value: Int { self.count.load(ordering: .relaxed) }
  var viewers: Int { self.viewerCount.load(ordering: .relaxed) }
}

/// Plays a stream over RTSP, and counts its frames by the marker of their last packets. Everything that the server waits for is done on
/// the event loop, which does not wait for threads of tasks that other tests keep busy.
private final class FrameReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The last byte of a frame with which viewers begin.
  static let openingEnd: UInt8 = 0x80
  /// The last byte of a frame that is counted.
  static let countedEnd: UInt8 = 0x81

  private let frames: FrameCounter
  private let output: RTPOutput
  private var parser = RTSPMessageParser()
  /// Feeds the keyframe that the response to PLAY waits for, for ten seconds at most; nil from the first frame on.
  private var feeding: RepeatedTask?

  init(_ frames: FrameCounter, of output: RTPOutput) {
    self.frames = frames
    self.output = output
  }

  func channelActive(context: ChannelHandlerContext) {
    let requests =
      "SETUP rtsp://h/feed/trackID=0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n"
      + "PLAY rtsp://h/feed RTSP/1.0\r\nCSeq: 2\r\n\r\n"
    context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: requests)), promise: nil)
    let output = self.output
    self.feeding = context.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(10)) { _ in
      output.consumeKeyframe(isOpening: true)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.feeding?.cancel()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.parser.append(self.unwrapInboundIn(data))
    while let message = self.parser.next() {
      guard case .interleaved(0, let packet) = message,
        let byte = packet.getInteger(at: packet.readerIndex + 1, as: UInt8.self), byte & 0b1000_0000 != 0
      else { continue }
      if let feeding = self.feeding.take() {
        feeding.cancel()
        self.frames.viewerCount.add(1, ordering: .relaxed)
      }
      guard packet.getInteger(at: packet.writerIndex - 1, as: UInt8.self) == Self.countedEnd else { continue }
      self.frames.count.add(1, ordering: .relaxed)
    }
  }
}

/// Responses that the HTTP clients of a test have received.
private final class ResponseCounter: Sendable {
  private let state = Mutex((all: 0, successful: 0, text: ""))

  var all: Int { self.state.withLock { $0.all } }
  var successful: Int { self.state.withLock { $0.successful } }
  /// The body of the last response; empty where requests are repeated.
  var text: String { self.state.withLock { $0.text } }

  func add(isSuccessful: Bool, text: String) {
    self.state.withLock { state in
      state.all += 1
      state.successful += isSuccessful ? 1 : 0
      state.text = text
    }
  }
}

/// Counts responses, and requests a path at the start and after each response.
private final class ResponseReader: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart
  private let responses: ResponseCounter
  private let path: String?
  private var isSuccessful = false
  private var body = ByteBuffer()

  init(_ responses: ResponseCounter, repeating path: String?) {
    self.responses = responses
    self.path = path
  }

  func channelActive(context: ChannelHandlerContext) { self.request(context) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch self.unwrapInboundIn(data) {
    case .head(let head):
      self.isSuccessful = head.status == .ok
      self.body.clear()
    case .body(var bytes): self.body.writeBuffer(&bytes)
    case .end:
      self.responses.add(isSuccessful: self.isSuccessful, text: self.path == nil ? String(buffer: self.body) : "")
      self.request(context)
    }
  }

  private func request(_ context: ChannelHandlerContext) {
    guard let path else { return }
    context.write(self.wrapOutboundOut(.get(path)), promise: nil)
    context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
  }
}
