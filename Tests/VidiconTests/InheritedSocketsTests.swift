import ControlAPI
import Foundation
import HTTPServer
import Media
import NIOCore
import NIOPosix
import RTSPServer
import Serving
import Synchronization
import TestSupport
import Testing

@testable import Vidicon

@Suite("Sockets that outlive a server", .timeLimit(.minutes(5)))
struct InheritedSocketsTests {
  private static func server(_ sockets: ListeningSockets, hasWebRTC: Bool = true) -> CameraServer {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    settings.rtmp = RTMPServerSettings(port: 0)
    settings.rtmp?.address = "127.0.0.1"
    if hasWebRTC { settings.webRTC = WebRTCServerSettings(port: 0) }
    settings.webRTC?.address = "127.0.0.1"
    return CameraServer(
      settings: settings, catalog: .all, privacy: .shared, discovery: { _ in }, log: { _ in }, sockets: sockets)
  }

  /// Collects what a connection receives.
  private final class Reader: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    let text = Mutex("")

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = self.unwrapInboundIn(data)
      self.text.withLock { $0 += String(buffer: bytes) }
    }
  }

  private static func connect(to port: Int, _ reader: Reader) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(reader) }
      }
      .connect(host: "127.0.0.1", port: port).get()
  }

  @Test func `a client that connects between two servers is answered by the second, which has the same ports`()
    async throws
  {
    let kept = Mutex([ListeningSockets.Role: Int32]())
    let first = Self.server(ListeningSockets(keep: { role, socket in kept.withLock { $0[role] = dup(socket) } }))
    try await first.start()
    let ports = try #require(first.ports)
    #expect(Set(kept.withLock { $0 }.keys) == [.rtsp, .http, .rtmp, .webRTC, .webRTCOverTCP])
    await first.stop()
    let requests = [
      (ports.rtsp, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", "RTSP/1.0 200"),
      (try #require(ports.http), "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "HTTP/1.1 200"),
    ]
    var clients: [(channel: any Channel, reader: Reader)] = []
    for (port, request, _) in requests {
      let reader = Reader()
      let channel = try await Self.connect(to: port, reader)
      try await channel.writeAndFlush(ByteBuffer(string: request))
      clients.append((channel, reader))
    }
    for client in clients { #expect(client.reader.text.withLock { $0 } == "") }
    let second = Self.server(ListeningSockets(kept.withLock { $0 }))
    try await second.start()
    #expect(second.ports == ports)
    for (client, (_, _, answer)) in zip(clients, requests) {
      try await eventually { client.reader.text.withLock { $0.hasPrefix(answer) } }
      try await client.channel.close()
    }
    await second.stop()
  }

  @Test(arguments: [false, true])
  func `a server that accepts no more, or not yet, leaves connections to the next one`(isHeld: Bool) async throws {
    let kept = Mutex([ListeningSockets.Role: Int32]())
    let first = Self.server(ListeningSockets(keep: { role, socket in kept.withLock { $0[role] = dup(socket) } }))
    try await first.start(holdingConnections: isHeld)
    let port = try #require(first.ports?.http)
    if !isHeld { await first.http?.pause() }
    let reader = Reader()
    let client = try await Self.connect(to: port, reader)
    try await client.writeAndFlush(ByteBuffer(string: "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
    await first.stop()
    #expect(client.isActive && reader.text.withLock { $0 } == "")
    let second = Self.server(ListeningSockets(kept.withLock { $0 }))
    try await second.start()
    try await eventually { reader.text.withLock { $0.hasPrefix("HTTP/1.1 200") } }
    try await client.close()
    await second.stop()
  }

  @Test func `a socket of WebRTC whose TCP port is taken is replaced, and the new one is kept`() async throws {
    let kept = Mutex([ListeningSockets.Role: Int32]())
    let first = Self.server(ListeningSockets(keep: { role, socket in kept.withLock { $0[role] = dup(socket) } }))
    try await first.start()
    let port = try #require(first.ports?.webRTC)
    await first.stop()
    let sockets = kept.withLock { sockets in
      defer { sockets = [:] }
      return sockets
    }
    for (role, socket) in sockets where role != .webRTC { close(socket) }
    let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: port).get()
    let forgotten = Mutex([ListeningSockets.Role]())
    let inherited = ListeningSockets(
      [.webRTC: try #require(sockets[.webRTC])], keep: { role, socket in kept.withLock { $0[role] = dup(socket) } },
      forget: { role in forgotten.withLock { $0.append(role) } })
    let second = Self.server(inherited)
    try await second.start()
    #expect(second.ports?.webRTC != port && inherited.inheritedRoles.isEmpty)
    #expect(forgotten.withLock { $0 } == [.webRTC])
    let new = kept.withLock { $0 }
    #expect(new.keys.contains(.webRTC) && new.keys.contains(.webRTCOverTCP))
    for socket in new.values { close(socket) }
    await second.stop()
    try await other.close()
  }

  @Test func `an inherited socket that no server uses is closed and forgotten`() async throws {
    let forgotten = Mutex([ListeningSockets.Role]())
    let socket = try #require(Self.openPipe())
    let inherited = ListeningSockets(
      [.webRTC: socket.write], forget: { role in forgotten.withLock { $0.append(role) } })
    let server = Self.server(inherited, hasWebRTC: false)
    try await server.start()
    #expect(forgotten.withLock { $0 } == [.webRTC] && inherited.inheritedRoles.isEmpty)
    // The end of a pipe whose other end is closed. Safe because a read of a pipe that does not block fails where it is open.
    try #require(fcntl(socket.read, F_SETFL, O_NONBLOCK) == 0)
    var byte: UInt8 = 0
    let count = read(socket.read, &byte, 1)
    #expect(count == 0)
    close(socket.read)
    await server.stop()
  }

  private static func openPipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    return pipe(&ends) == 0 ? (ends[0], ends[1]) : nil
  }
}
