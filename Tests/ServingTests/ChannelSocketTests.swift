import Foundation
import NIOCore
import NIOPosix
import Serving
import TestSupport
import Testing

@Suite("Sockets of channels")
struct ChannelSocketTests {
  /// A connected client that reads nothing by itself, and the server's channel.
  private static func pair() async throws -> (client: Int32, channel: any Channel) {
    let (channels, continuation) = AsyncStream.makeStream(of: (any Channel).self)
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Active { continuation.yield($0) })
        }
      }
      .childChannelOption(.socketOption(.so_sndbuf), value: 1 << 20)
      .bind(host: "127.0.0.1", port: 0).get()
    defer { listener.close(promise: nil) }
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = in_port_t(try #require(listener.localAddress?.port)).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(status == 0)
    WaitLimit.apply(to: client)
    let channel = try #require(await channels.first { _ in true })
    return (client, channel)
  }

  /// Passes channels on that are open: one that is not yet would be closed with its listener.
  private final class Active: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private let take: @Sendable (any Channel) -> Void
    init(_ take: @escaping @Sendable (any Channel) -> Void) { self.take = take }

    func channelActive(context: ChannelHandlerContext) {
      self.take(context.channel)
      context.fireChannelActive()
    }
  }

  /// Sends until the socket is full, and then does something; returns the bytes that the system took.
  private static func fill(_ channel: any Channel, then body: @escaping @Sendable (ChannelSocket) -> Void) async throws
    -> Int
  {
    try await channel.eventLoop.submit {
      let socket = try #require(ChannelSocket(of: channel))
      let bytes = ByteBuffer(repeating: 7, count: 1 << 16)
      var count = 0
      while true {
        let rest = socket.descriptor.send(bytes)?.readableBytes ?? 0
        count += bytes.readableBytes - rest
        if rest > 0 { break }
      }
      body(socket)
      return count
    }.get()
  }

  /// Reads to the end, and returns the bytes and the error that ended it.
  private static func drain(_ client: Int32) -> (count: Int, error: Int32) {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count = 0
    while true {
      let result = recv(client, &bytes, bytes.count, 0)
      guard result > 0 else { return (count, result < 0 ? errno : 0) }
      count += result
    }
  }

  @Test func `what has not left is discarded with the connection, and not without a word`() async throws {
    let (client, channel) = try await Self.pair()
    defer { close(client) }
    let count = try await Self.fill(channel) { socket in
      #expect(socket.holdsBytes)
      socket.discardAndClose()
    }
    try await channel.closeFuture.get()
    let received = Self.drain(client)
    #expect(received.error == ECONNRESET && received.count < count)
  }

  @Test func `without it, all that the system took arrives`() async throws {
    let (client, channel) = try await Self.pair()
    defer { close(client) }
    let count = try await Self.fill(channel) { _ in channel.close(promise: nil) }
    let received = Self.drain(client)
    #expect(received.error == 0 && received.count == count)
  }

  @Test func `a connection that is to end with its peer asks for signs of life`() async throws {
    let (client, channel) = try await Self.pair()
    defer { close(client) }
    let values = try await channel.eventLoop.submit {
      let socket = try #require(ChannelSocket(of: channel))
      let options = try #require(channel.syncOptions)
      let before = try options.getOption(.socketOption(.so_keepalive))
      socket.keepAlive()
      return [before, try options.getOption(.socketOption(.so_keepalive))]
        + [TCP_KEEPIDLE, TCP_USER_TIMEOUT].map {
          (try? options.getOption(.tcpOption(.init(rawValue: $0)))) ?? -1
        }
    }.get()
    #expect(values[0] == 0 && values[1] != 0 && values[2...] == [5, 30_000])
  }

  @Test func `an idle connection holds nothing, and neither does a closed one`() async throws {
    let (client, channel) = try await Self.pair()
    defer { close(client) }
    let socket = try await channel.eventLoop.submit {
      NIOLoopBound(try #require(ChannelSocket(of: channel)), eventLoop: channel.eventLoop)
    }.get()
    try await channel.eventLoop.submit { #expect(!socket.value.holdsBytes) }.get()
    try await channel.close()
    try await channel.eventLoop.submit { #expect(!socket.value.holdsBytes) }.get()
  }
}
