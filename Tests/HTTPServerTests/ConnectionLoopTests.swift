import Authentication
import HTTPTypes
import Media
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Serving
import Synchronization
import Testing

@testable import HTTPServer

@Suite("Limits of connections")
struct ConnectionLoopTests {
  private let eventLoop = EmbeddedEventLoop()

  private func loop(maximumConnections: Int = 4, _ limits: HTTPServerLimits = HTTPServerLimits()) -> ConnectionLoop {
    ConnectionLoop(
      eventLoop: self.eventLoop, limits: limits, registry: ConnectionRegistry(maximumCount: maximumConnections))
  }

  /// A connection whose channel is open, registered.
  private func connect(_ loop: ConnectionLoop) throws -> (guardian: ConnectionGuard, channel: EmbeddedChannel) {
    let (guardian, channel, isAdded) = try self.tryConnect(loop)
    #expect(isAdded)
    return (guardian, channel)
  }

  /// A connection whose channel is open, and whether it was registered.
  private func tryConnect(
    _ loop: ConnectionLoop
  ) throws -> (guardian: ConnectionGuard, channel: EmbeddedChannel, isAdded: Bool) {
    let guardian = ConnectionGuard(loop: loop)
    let channel = EmbeddedChannel(handler: guardian, loop: self.eventLoop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return (guardian, channel, loop.add(guardian, on: channel))
  }

  /// Lets a connection send a request and receive its response.
  private func exchange(_ guardian: ConnectionGuard, _ channel: EmbeddedChannel) {
    guardian.exchangeBegan(nil, channel: channel)
    guardian.exchangeEnded(nil, endless: nil)
  }

  @Test func `at the limit the connection that has been idle longest is closed`() throws {
    let loop = self.loop(maximumConnections: 2)
    let connections = try (0..<2).map { _ in try self.connect(loop) }
    for (guardian, channel) in connections { self.exchange(guardian, channel) }
    // The first one is used again, so the second one has been idle longer.
    self.exchange(connections[0].guardian, connections[0].channel)
    let third = try self.connect(loop)
    #expect(connections.map(\.channel.isActive) == [true, false])
    #expect(third.channel.isActive)
    #expect(loop.count.load(ordering: .relaxed) == 2)
  }

  @Test func `a connection that never sent a request is closed before one that did`() throws {
    let loop = self.loop(maximumConnections: 4)
    let player = try self.connect(loop)
    self.exchange(player.guardian, player.channel)
    let unused = try (0..<5).map { _ in try self.connect(loop) }
    #expect(player.channel.isActive)
    #expect(unused.map(\.channel.isActive) == [false, false, true, true, true])
  }

  @Test func `a connection is rejected when all others have open requests`() throws {
    let loop = self.loop(maximumConnections: 1)
    let (busy, channel) = try self.connect(loop)
    busy.exchangeBegan(nil, channel: channel)
    #expect(loop.active.load(ordering: .relaxed) == 1)
    #expect(try !self.tryConnect(loop).isAdded)
    #expect(channel.isActive)
    busy.exchangeEnded(nil, endless: nil)
    #expect(loop.active.load(ordering: .relaxed) == 0)
    #expect(try self.tryConnect(loop).isAdded)
    #expect(!channel.isActive)
  }

  @Test(arguments: [ConnectionTable.Use.events, .motionJPEG])
  func `an open response that ends with the stream only makes room for another connection`(
    use: ConnectionTable.Use
  ) throws {
    let loop = self.loop(maximumConnections: 1)
    let (guardian, channel) = try self.connect(loop)
    guardian.exchangeBegan(nil, channel: channel)
    #expect(guardian.responseIsEndless(use))
    #expect(guardian.use == use)
    #expect(loop.active.load(ordering: .relaxed) == 1)
    // HTTP/1.1 requests behind it are not answered.
    guardian.exchangeBegan(nil, channel: channel)
    #expect(guardian.use == use)
    #expect(try self.tryConnect(loop).isAdded)
    #expect(!channel.isActive)
    #expect(loop.active.load(ordering: .relaxed) == 0)
  }

  @Test(arguments: [(["127.0.0.1"], true), (["192.0.2.9"], false), ([], false)])
  func `connections of a known proxy count for its clients, those of others for themselves`(
    proxies: [String], isProxy: Bool
  ) throws {
    let loop = ConnectionLoop(
      eventLoop: self.eventLoop, limits: HTTPServerLimits(), registry: ConnectionRegistry(maximumCount: 3),
      proxies: proxies)
    var channels: [EmbeddedChannel] = []
    for client in ["10.0.0.1", "10.0.0.1, 10.0.0.2", "10.0.0.2"] {
      let (guardian, channel) = try self.connect(loop)
      var request = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/live/mjpeg")
      request.headerFields[HTTPField.Name("X-Forwarded-For")!] = client
      guardian.exchangeBegan(nil, channel: channel)
      guardian.countClient(of: request)
      #expect(guardian.responseIsEndless(.motionJPEG))
      channels.append(channel)
    }
    _ = try self.connect(loop)
    // The client with two connections loses its oldest; without a known proxy all are one client's.
    #expect(channels.map(\.isActive) == (isProxy ? [true, false, true] : [false, true, true]))
  }

  @Test func `each HTTP/2 stream but one counts as a connection of its network, the client's behind a proxy`() throws {
    let registry = ConnectionRegistry(maximumCount: 4)
    let loop = ConnectionLoop(
      eventLoop: self.eventLoop, limits: HTTPServerLimits(), registry: registry, proxies: ["127.0.0.1"])
    let (guardian, _) = try self.connect(loop)
    var request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/api/streams/a/events")
    request.headerFields[HTTPField.Name("X-Forwarded-For")!] = "192.0.2.1"
    guardian.countClient(of: request)
    guardian.registration?.setUse(.request)
    var streams: [EmbeddedChannel] = []
    for number in 0..<3 {
      let stream = EmbeddedChannel(loop: self.eventLoop)
      try stream.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      streams.append(stream)
      guardian.streamOpened()
      let registration = try guardian.registerStream(stream)
      #expect((registration == nil) == (number == 0))
      registration?.setUse(.events)
    }
    #expect(registry.count == 3)
    // Another client is admitted, and displaces the oldest stream at the limit.
    let others = try (1...2).map { try #require(registry.register(from: .v4($0)) {}) }
    #expect(streams.map(\.isActive) == [true, false, true])
    // Open requests of a network make no room for its next one.
    for other in others { other.setUse(.session) }
    guardian.streamClosed()
    #expect(try guardian.registerStream(streams[1]) != nil)
    #expect(streams.map(\.isActive) == [true, false, false])
    #expect(throws: RefusedRequest.self) { try guardian.registerStream(streams[1]) }
  }

  @Test func `an HTTP/2 connection has at most 16 endless responses`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    let counters = HTTPCounters()
    for number in 0..<17 {
      let exchange = ExchangeHandler(
        limits: HTTPServerLimits(), counters: counters, application: StubApplication())
      guardian.exchangeBegan(exchange, channel: channel)
      #expect(guardian.responseIsEndless(number % 2 == 0 ? .events : .motionJPEG) == (number < 16))
    }
    guardian.exchangeEnded(nil, endless: .events)
    #expect(guardian.responseIsEndless(.events))
    #expect(!guardian.responseIsEndless(.events))
    #expect(guardian.refusals[.overLimit] == 2)
  }

  @Test func `an HTTP/2 response whose end is not sent in 20 seconds is stalled`() throws {
    let exchange = ExchangeHandler(
      limits: HTTPServerLimits(), counters: HTTPCounters(), application: StubApplication())
    let stream = EmbeddedChannel(handler: exchange, loop: self.eventLoop)
    let request = HTTPRequest(method: .get, scheme: "https", authority: "localhost", path: "/live/snapshot.jpg")
    try stream.writeInbound(HTTPRequestPart.head(request))
    try stream.writeInbound(HTTPRequestPart.end(nil))
    // Not flushed, as where the client's window is closed.
    stream.write(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
    #expect(!exchange.isStalled(at: .now() + .seconds(21), limit: .seconds(20)))
    let before = NIODeadline.now()
    stream.write(HTTPResponsePart.end(nil), promise: nil)
    #expect(!exchange.isStalled(at: before + .seconds(19), limit: .seconds(20)))
    #expect(exchange.isStalled(at: .now() + .seconds(21), limit: .seconds(20)))
    stream.flush()
    #expect(!exchange.isStalled(at: .now() + .seconds(21), limit: .seconds(20)))
    _ = try stream.finish(acceptAlreadyClosed: true)
  }

  @Test func `the end of an endless response leaves an idle connection`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    guardian.exchangeBegan(nil, channel: channel)
    #expect(guardian.responseIsEndless(.motionJPEG))
    guardian.exchangeEnded(nil, endless: .motionJPEG)
    #expect(guardian.use == .idle)
    guardian.exchangeBegan(nil, channel: channel)
    #expect(guardian.use == .request)
  }

  @Test func `an idle connection is overdue after its time, one with an open request is not`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    // Time passes between two calls, so that the one before is taken where something is not due yet.
    let before = NIODeadline.now()
    self.exchange(guardian, channel)
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: before + .seconds(59)))
    #expect(guardian.isOverdue(at: now + .seconds(61)))
    guardian.exchangeBegan(nil, channel: channel)
    #expect(!guardian.isOverdue(at: now + .seconds(1000)))
    guardian.exchangeEnded(nil, endless: nil)
    #expect(guardian.isOverdue(at: .now() + .seconds(61)))
  }

  @Test func `a request that is answered at once leaves an idle connection, also for the table of all`() throws {
    let registry = ConnectionRegistry(maximumCount: 2)
    let loop = ConnectionLoop(eventLoop: self.eventLoop, limits: HTTPServerLimits(), registry: registry)
    let (guardian, channel) = try self.connect(loop)
    let before = NIODeadline.now()
    try channel.writeInbound(ByteBuffer(string: "GET /"))
    for _ in 0..<3 { guardian.exchangeAnswered(on: channel) }
    #expect(guardian.use == .idle)
    #expect(loop.active.load(ordering: .relaxed) == 0)
    // No head is incomplete, and the time of idle connections counts.
    #expect(!guardian.isOverdue(at: before + .seconds(59)))
    #expect(guardian.isOverdue(at: .now() + .seconds(61)))
    // One that has sent no request is closed first.
    let (_, unused) = try self.connect(loop)
    _ = try self.connect(loop)
    #expect(channel.isActive && !unused.isActive)
  }

  @Test func `a silent connection is overdue after 15 seconds`() throws {
    let (loop, before) = (self.loop(), NIODeadline.now())
    let (guardian, channel) = try self.connect(loop)
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: before + .seconds(14)))
    #expect(guardian.isOverdue(at: now + .seconds(16)))
    self.exchange(guardian, channel)
    #expect(!guardian.isOverdue(at: now + .seconds(16)))
  }

  @Test func `an incomplete request head is overdue after 15 seconds`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    let before = NIODeadline.now()
    try channel.writeInbound(ByteBuffer(string: "GET /"))
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: before + .seconds(14)))
    #expect(guardian.isOverdue(at: now + .seconds(16)))
    // The complete head ends that limit.
    self.exchange(guardian, channel)
    #expect(!guardian.isOverdue(at: now + .seconds(16)))
  }

  @Test func `a connection is overdue two seconds after its last response`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    guardian.exchangeBegan(nil, channel: channel)
    let before = NIODeadline.now()
    guardian.closeSoon()
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: before + .seconds(1)))
    #expect(guardian.isOverdue(at: now + .seconds(3)))
  }

  @Test func `a client that reads nothing is overdue after 20 seconds`() throws {
    let (loop, before) = (self.loop(), NIODeadline.now())
    let (guardian, channel) = try self.connect(loop)
    guardian.exchangeBegan(nil, channel: channel)
    // Written and not flushed: EmbeddedChannel counts it as waiting.
    channel.write(ByteBuffer(string: "response"), promise: nil)
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: now))
    #expect(!guardian.isOverdue(at: before + .seconds(19)))
    #expect(guardian.isOverdue(at: now + .seconds(21)))
    channel.flush()
    #expect(!guardian.isOverdue(at: now + .seconds(22)))
  }

  @Test func `a closed connection is not counted any more`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    #expect(loop.count.load(ordering: .relaxed) == 1)
    try channel.close().wait()
    #expect(loop.count.load(ordering: .relaxed) == 0)
    loop.remove(guardian)
    #expect(loop.count.load(ordering: .relaxed) == 0)
  }
}
