import Authentication
import Media
import NIOCore
import NIOPosix
import Serving
import Synchronization
import TestSupport
import Testing
import WebRTC

@testable import WebRTCServer

@Suite("The TCP port of all sessions, RFC 6544", .timeLimit(.minutes(5)))
struct ICETCPPortTests {
  private static let group = MultiThreadedEventLoopGroup.singleton

  /// The sessions of a test: datagrams that came, and addresses that have a session.
  private final class Sessions: Sendable {
    let received = Mutex<[(ByteBuffer, TransportAddress)]>([])
    let hasSession = Atomic(true)
  }

  /// A check without credentials.
  private static func check() -> ByteBuffer {
    var buffer = ByteBuffer()
    STUNMessage(.request, transactionID: .init(1, 2), attributes: [.username("a:b")]).serialize(into: &buffer)
    return buffer
  }

  private static func framed(_ datagrams: [ByteBuffer]) -> ByteBuffer {
    var buffer = ByteBuffer()
    for datagram in datagrams { FramedDatagrams.write(datagram, to: &buffer) }
    return buffer
  }

  private func withPort(
    _ body: (ICETCPPort, Sessions, _ connect: () async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer>) async throws
      -> Void
  ) async throws {
    let sessions = Sessions()
    let loop = Self.group.next()
    let opener = TCPListener(
      group: Self.group, registry: ConnectionRegistry(), address: "127.0.0.1", waterMark: .init(low: 1024, high: 2048),
      options: "--webrtc-port", unprivilegedPort: 8189)
    let port = try await ICETCPPort.open(
      opener, port: 0,
      sessions: ICETCPPort.Sessions(
        eventLoop: loop,
        receive: { datagrams, address in
          sessions.received.withLock { $0 += datagrams.map { ($0, address) } }
        }, contains: { _ in sessions.hasSession.load(ordering: .relaxed) }))
    let number = try #require(port.port)
    try await body(port, sessions) {
      try await ClientBootstrap(group: Self.group).connect(host: "127.0.0.1", port: number) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    }
    await port.close()
  }

  @Test func `datagrams go both ways in frames`() async throws {
    try await self.withPort { port, sessions, connect in
      let client = try await connect()
      try await client.executeThenClose { inbound, outbound in
        try await outbound.write(Self.framed([Self.check(), ByteBuffer(bytes: [128, 200, 1])]))
        try await eventually { sessions.received.withLock { $0.count } >= 2 }
        let (datagrams, address) = sessions.received.withLock { ($0.map(\.0), $0[0].1) }
        #expect(datagrams == [Self.check(), ByteBuffer(bytes: [128, 200, 1])])
        #expect(address.isTCP && address.ip == .v4(0x7F00_0001))
        var batch = DatagramBatch()
        // Two of a message with equal lengths, and a shorter one.
        let answers = [ByteBuffer(bytes: [1, 2, 3]), ByteBuffer(bytes: [4, 5, 6]), ByteBuffer(bytes: [7])]
        for answer in answers { batch.append(answer, to: address) }
        #expect(batch.messages.count == 1 && port.send(batch) == 0)
        var bytes = ByteBuffer()
        for try await piece in inbound {
          bytes.writeImmutableBuffer(piece)
          if bytes.readableBytes == Self.framed(answers).readableBytes { break }
        }
        #expect(bytes == Self.framed(answers))
        // An address of UDP, and one without a connection.
        batch.removeAll()
        batch.append(ByteBuffer(bytes: [1]), to: TransportAddress(ip: address.ip, port: address.port))
        batch.append(ByteBuffer(bytes: [1]), to: TransportAddress(ip: .v4(1), port: 1, isTCP: true))
        #expect(port.send(batch) == 2)
      }
    }
  }

  @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "\u{0}\u{3}abc"])
  func `a client that begins without a check is disconnected without an answer`(text: String) async throws {
    try await self.withPort { _, sessions, connect in
      let client = try await connect()
      try await client.executeThenClose { inbound, outbound in
        try await outbound.write(ByteBuffer(string: text))
        for try await _ in inbound { Issue.record("it got an answer") }
      }
      #expect(sessions.received.withLock { $0.isEmpty })
    }
  }

  @Test func `a connection without a session is closed`() async throws {
    try await self.withPort { _, sessions, connect in
      sessions.hasSession.store(false, ordering: .relaxed)
      let client = try await connect()
      try await client.executeThenClose { inbound, outbound in
        try await outbound.write(Self.framed([Self.check()]))
        for try await _ in inbound { Issue.record("it got an answer") }
      }
    }
  }

  @Test func `datagrams of a client that does not read are lost, and memory is bounded`() async throws {
    try await self.withPort { port, sessions, connect in
      let client = try await connect()
      try await client.executeThenClose { inbound, outbound in
        try await outbound.write(Self.framed([Self.check()]))
        try await eventually { !sessions.received.withLock { $0.isEmpty } }
        let address = sessions.received.withLock { $0[0].1 }
        var batch = DatagramBatch()
        for _ in 0..<100 { batch.append(ByteBuffer(repeating: 1, count: 1200), to: address) }
        var dropped = 0
        // More than the system's buffers hold.
        for _ in 0..<200 { dropped += port.send(batch) }
        #expect(dropped > 5000)
      }
    }
  }
}
