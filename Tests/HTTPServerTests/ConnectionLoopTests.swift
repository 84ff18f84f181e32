import Media
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import HTTPServer

@Suite("Limits of connections")
struct ConnectionLoopTests {
  private let eventLoop = EmbeddedEventLoop()

  private func loop(maximumConnections: Int = 4, _ limits: HTTPServerLimits = HTTPServerLimits()) -> ConnectionLoop {
    ConnectionLoop(eventLoop: self.eventLoop, limits: limits, maximumConnections: maximumConnections)
  }

  /// A connection whose channel is open.
  private func connect(_ loop: ConnectionLoop) throws -> (guardian: ConnectionGuard, channel: EmbeddedChannel) {
    let guardian = ConnectionGuard(loop: loop)
    let channel = EmbeddedChannel(handler: guardian, loop: self.eventLoop)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return (guardian, channel)
  }

  /// Lets a connection send a request and receive its response.
  private func exchange(_ guardian: ConnectionGuard, _ channel: EmbeddedChannel) {
    guardian.exchangeBegan(nil, channel: channel)
    guardian.exchangeEnded(nil)
  }

  @Test func `idle connections are removed from any place of the list`() throws {
    let loop = self.loop()
    let connections = try (0..<4).map { _ in try self.connect(loop).guardian }
    for removed in 0..<4 {
      var list = IdleConnections()
      for connection in connections { list.append(connection) }
      list.remove(connections[removed])
      list.remove(connections[removed])
      #expect(list.count == 3)
      var order: [ConnectionGuard] = []
      while let first = list.first {
        order.append(first)
        list.remove(first)
      }
      #expect(order.map(ObjectIdentifier.init) == (0..<4).filter { $0 != removed }.map { .init(connections[$0]) })
      #expect(list.count == 0)
    }
  }

  @Test func `at the limit the connection that has been idle longest is closed`() throws {
    let loop = self.loop(maximumConnections: 2)
    let connections = try (0..<3).map { _ in try self.connect(loop) }
    for (guardian, channel) in connections[..<2] {
      let isAdded = loop.add(guardian)
      #expect(isAdded)
      self.exchange(guardian, channel)
    }
    // The first one is used again, so the second one has been idle longer.
    self.exchange(connections[0].guardian, connections[0].channel)
    let isAdded = loop.add(connections[2].guardian)
    #expect(isAdded)
    #expect(connections.map(\.channel.isActive) == [true, false, true])
    #expect(loop.count.load(ordering: .relaxed) == 2)
    #expect(loop.evicted.load(ordering: .relaxed) == 1)
  }

  @Test func `connections that never sent a request are closed first when they are more than half`() throws {
    let loop = self.loop(maximumConnections: 4)
    let player = try self.connect(loop)
    _ = loop.add(player.guardian)
    self.exchange(player.guardian, player.channel)
    let unused = try (0..<5).map { _ in try self.connect(loop) }
    for connection in unused { _ = loop.add(connection.guardian) }
    #expect(player.channel.isActive)
    #expect(unused.map(\.channel.isActive) == [false, false, true, true, true])
  }

  @Test func `a connection is rejected when all others have open requests`() throws {
    let loop = self.loop(maximumConnections: 1)
    let (busy, channel) = try self.connect(loop)
    _ = loop.add(busy)
    busy.exchangeBegan(nil, channel: channel)
    #expect(loop.active.load(ordering: .relaxed) == 1)
    let isAdded = loop.add(try self.connect(loop).guardian)
    #expect(!isAdded)
    #expect(channel.isActive)
    busy.exchangeEnded(nil)
    #expect(loop.active.load(ordering: .relaxed) == 0)
    let isAddedNow = loop.add(try self.connect(loop).guardian)
    #expect(isAddedNow)
    #expect(!channel.isActive)
  }

  @Test func `an idle connection is overdue after its time, one with an open request is not`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    _ = loop.add(guardian)
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: now + .seconds(59)))
    #expect(guardian.isOverdue(at: now + .seconds(61)))
    guardian.exchangeBegan(nil, channel: channel)
    #expect(!guardian.isOverdue(at: now + .seconds(1000)))
    guardian.exchangeEnded(nil)
    #expect(guardian.isOverdue(at: .now() + .seconds(61)))
  }

  @Test func `an incomplete request head is overdue after 15 seconds`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    _ = loop.add(guardian)
    try channel.writeInbound(ByteBuffer(string: "GET /"))
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: now + .seconds(14)))
    #expect(guardian.isOverdue(at: now + .seconds(16)))
    // The complete head ends that limit.
    self.exchange(guardian, channel)
    #expect(!guardian.isOverdue(at: now + .seconds(16)))
  }

  @Test func `a connection is overdue two seconds after its last response`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    _ = loop.add(guardian)
    guardian.exchangeBegan(nil, channel: channel)
    guardian.closeSoon()
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: now + .seconds(1)))
    #expect(guardian.isOverdue(at: now + .seconds(3)))
  }

  @Test func `a client that reads nothing is overdue after 20 seconds`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    _ = loop.add(guardian)
    guardian.exchangeBegan(nil, channel: channel)
    // Written and not flushed: EmbeddedChannel counts it as waiting.
    channel.write(ByteBuffer(string: "response"), promise: nil)
    let now = NIODeadline.now()
    #expect(!guardian.isOverdue(at: now))
    #expect(!guardian.isOverdue(at: now + .seconds(19)))
    #expect(guardian.isOverdue(at: now + .seconds(21)))
    channel.flush()
    #expect(!guardian.isOverdue(at: now + .seconds(22)))
  }

  @Test func `a closed connection is not counted any more`() throws {
    let loop = self.loop()
    let (guardian, channel) = try self.connect(loop)
    _ = loop.add(guardian)
    #expect(loop.count.load(ordering: .relaxed) == 1)
    try channel.close().wait()
    #expect(loop.count.load(ordering: .relaxed) == 0)
    loop.remove(guardian)
    #expect(loop.count.load(ordering: .relaxed) == 0)
  }
}
