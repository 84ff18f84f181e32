import Authentication
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Serving
import Synchronization
import Testing

@testable import HTTPServer

@Suite("Responses on the event loop")
struct ExchangeHandlerTests {
  /// Counts writes and flushes, each of which is a system call of a socket.
  private final class Counter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private(set) var writes = 0
    private(set) var flushes = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      self.writes += 1
      context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
      self.flushes += 1
      context.flush()
    }
  }

  private let eventLoop = EmbeddedEventLoop()

  private static func response(isPrepared: Bool) -> ServerResponse {
    var response = ServerResponse(
      .ok, [.contentType: "video/mp2t", .contentLength: "4"], body: .bytes(ByteBuffer(string: "body")))
    if isPrepared { response.serializedHead = response.serializeHead() }
    return response
  }

  private static func exchange(_ response: @escaping @Sendable (HTTPRequest) -> ServerResponse?) -> ExchangeHandler {
    ExchangeHandler(limits: HTTPServerLimits(), counters: HTTPCounters(), application: StubApplication(response))
  }

  /// An HTTP/1 connection whose requests are answered at once, unless their path is `/task`.
  private func connect(
    isPrepared: Bool, _ loop: ConnectionLoop
  ) throws -> (channel: EmbeddedChannel, counter: Counter, guardian: ConnectionGuard) {
    let (counter, guardian) = (Counter(), ConnectionGuard(loop: loop))
    let exchange = Self.exchange { $0.path != "/task" ? Self.response(isPrepared: isPrepared) : nil }
    let channel = EmbeddedChannel(loop: self.eventLoop)
    try channel.pipeline.syncOperations.addHandlers([
      counter, guardian, HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()),
      HTTP1ToHTTPServerCodec(secure: false), exchange,
    ])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    try #require(loop.add(guardian, on: channel))
    return (channel, counter, guardian)
  }

  private func loop() -> ConnectionLoop {
    ConnectionLoop(
      eventLoop: self.eventLoop, limits: HTTPServerLimits(), registry: ConnectionRegistry(maximumCount: 4))
  }

  private static func text(_ channel: EmbeddedChannel) throws -> String {
    var text = ""
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  private static let expected = "HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nContent-Length: 4\r\n\r\nbody"

  @Test(arguments: [false, true])
  func `400 responses of HTTP/1 are 400 writes of head and body together`(isPrepared: Bool) throws {
    let (channel, counter, guardian) = try self.connect(isPrepared: isPrepared, self.loop())
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    for _ in 0..<400 {
      try channel.writeInbound(ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"))
      #expect(try Self.text(channel) == Self.expected)
    }
    #expect(counter.flushes == 400 && counter.writes == 800)
    #expect(guardian.use == .idle)
    #expect(try channel.readInbound(as: HTTPRequestPart.self) == nil)
  }

  @Test(arguments: [false, true])
  func `requests that are sent together are answered in their order, also around one of a task`(isPrepared: Bool) throws
  {
    let loop = self.loop()
    let (channel, _, guardian) = try self.connect(isPrepared: isPrepared, loop)
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    let requests = ["/a", "/task", "/b"].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
    try channel.writeInbound(ByteBuffer(string: requests.joined()))
    #expect(try Self.text(channel) == Self.expected)
    #expect(guardian.use == .request && loop.active.load(ordering: .relaxed) == 1)
    var paths: [String?] = []
    while let part = try channel.readInbound(as: HTTPRequestPart.self) {
      if case .head(let request) = part { paths.append(request.path) }
    }
    // The task has the one behind too.
    #expect(paths == ["/task", "/b"])
    for _ in paths {
      try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .noContent)))
      try channel.writeOutbound(HTTPResponsePart.end(nil))
    }
    #expect(guardian.use == .idle && loop.active.load(ordering: .relaxed) == 0)
    try channel.writeInbound(ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"))
    #expect(try Self.text(channel).hasSuffix(Self.expected))
  }

  @Test func `a head that depends on the request is not sent as prepared`() throws {
    let (channel, _, _) = try self.connect(isPrepared: true, self.loop())
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    try channel.writeInbound(ByteBuffer(string: "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"))
    let text = try Self.text(channel)
    #expect(text.hasPrefix("HTTP/1.0 200 OK\r\n") && text.contains("\r\nconnection: keep-alive\r\n"))
    #expect(text.hasSuffix("\r\n\r\nbody"))
  }

  @Test func `400 responses of HTTP/2 are 400 flushes`() throws {
    for _ in 0..<400 {
      let counter = FlushCounter()
      let exchange = Self.exchange { _ in Self.response(isPrepared: true) }
      let stream = EmbeddedChannel(handlers: [counter, exchange], loop: self.eventLoop)
      defer { _ = try? stream.finish(acceptAlreadyClosed: true) }
      Self.receive(stream)
      let parts = try (0..<3).map { _ in try stream.readOutbound(as: HTTPResponsePart.self) }
      let fields: HTTPFields = [.contentType: "video/mp2t", .contentLength: "4"]
      #expect(
        parts == [.head(HTTPResponse(status: .ok, headerFields: fields)), .body(ByteBuffer(string: "body")), .end(nil)])
      #expect(counter.flushes == 1)
      #expect(!exchange.isUnsent)
      #expect(try stream.readInbound(as: HTTPRequestPart.self) == nil)
    }
  }

  /// Holds back an HTTP/2 stream after each part of a body, as a client does that has no room for more.
  private final class Window: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      context.write(data, promise: promise)
      guard case .body = self.unwrapOutboundIn(data) else { return }
      self.set(false, context)
    }

    func set(_ isWritable: Bool, _ context: ChannelHandlerContext) {
      (context.channel as? EmbeddedChannel)?.isWritable = isWritable
      context.fireChannelWritabilityChanged()
    }
  }

  /// A stream whose request is answered with 200,000 bytes.
  private func longStream(_ handlers: [any ChannelHandler & SendableMetatype]) -> (
    EmbeddedChannel, ExchangeHandler, ByteBuffer
  ) {
    let body = ByteBuffer(bytes: (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
    let exchange = Self.exchange { _ in ServerResponse(.ok, body: .bytes(body)) }
    let stream = EmbeddedChannel(handlers: handlers + [exchange], loop: self.eventLoop)
    Self.receive(stream)
    return (stream, exchange, body)
  }

  /// The parts of a response that were sent: lengths of its body's, and the body.
  private static func parts(_ stream: EmbeddedChannel) throws -> (lengths: [Int], body: ByteBuffer, hasEnded: Bool) {
    var (lengths, body, hasEnded) = ([Int](), ByteBuffer(), false)
    while let part = try stream.readOutbound(as: HTTPResponsePart.self) {
      switch part {
      case .head: break
      case .body(let bytes):
        lengths.append(bytes.readableBytes)
        body.writeImmutableBuffer(bytes)
      case .end: hasEnded = true
      }
    }
    return (lengths, body, hasEnded)
  }

  @Test func `a long body of HTTP/2 is written in slices, without a task`() throws {
    let (stream, exchange, body) = self.longStream([])
    defer { _ = try? stream.finish(acceptAlreadyClosed: true) }
    let parts = try Self.parts(stream)
    #expect(parts.lengths == [65_536, 65_536, 65_536, 3_392] && parts.body == body && parts.hasEnded)
    #expect(!exchange.isUnsent)
    #expect(try stream.readInbound(as: HTTPRequestPart.self) == nil)
  }

  @Test func `a client of HTTP/2 is sent a slice when it has room for one, and a closed stream none`() throws {
    let window = Window()
    let (stream, exchange, body) = self.longStream([window])
    defer { _ = try? stream.finish(acceptAlreadyClosed: true) }
    var all = try Self.parts(stream)
    #expect(all.lengths == [65_536] && !all.hasEnded && !exchange.isUnsent)
    #expect(exchange.isStalled(at: .now() + .seconds(10), limit: .seconds(9)))
    let context = try stream.pipeline.syncOperations.context(handler: window)
    for count in 2...4 {
      window.set(true, context)
      let more = try Self.parts(stream)
      all.lengths += more.lengths
      all.body.writeImmutableBuffer(more.body)
      #expect(all.lengths.count == count && more.hasEnded == (count == 4))
    }
    #expect(all.body == body)
    let (other, _, _) = self.longStream([Window()])
    let sent = try Self.parts(other)
    #expect(sent.lengths == [65_536])
    _ = try other.finish()
    #expect(try Self.parts(other).lengths == [])
  }

  @Test func `a request of HTTP/2 that needs a task is passed to it`() throws {
    let exchange = Self.exchange { _ in nil }
    let stream = EmbeddedChannel(handler: exchange, loop: self.eventLoop)
    defer { _ = try? stream.finish(acceptAlreadyClosed: true) }
    Self.receive(stream)
    #expect(try stream.readInbound(as: HTTPRequestPart.self) == .head(Self.request))
    #expect(try stream.readInbound(as: HTTPRequestPart.self) == .end(nil))
    #expect(try stream.readOutbound(as: HTTPResponsePart.self) == nil)
  }

  /// Counts the flushes of an HTTP/2 stream.
  private final class FlushCounter: ChannelOutboundHandler {
    typealias OutboundIn = HTTPResponsePart

    private(set) var flushes = 0

    func flush(context: ChannelHandlerContext) {
      self.flushes += 1
      context.flush()
    }
  }

  private static let request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/a")

  /// Lets a stream receive a request in one frame.
  private static func receive(_ stream: EmbeddedChannel) {
    let pipeline = stream.pipeline.syncOperations
    pipeline.fireChannelRead(NIOAny(HTTPRequestPart.head(Self.request)))
    pipeline.fireChannelRead(NIOAny(HTTPRequestPart.end(nil)))
    pipeline.fireChannelReadComplete()
  }
}
