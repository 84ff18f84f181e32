import Media
import NIOCore
import NIOPosix
import NIOSSL
import RTMP
import Synchronization
import Threading

/// A server on loopback that accepts publishers, and keeps what they send.
final class TestRTMPServer: Sendable {
  /// What one connection has sent.
  struct Connection: Sendable {
    var request: RTMPStreamRequest?
    var messages: [RTMPMessage] = []
    var hasStopped = false
    var hasClosed = false
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let channel = Mutex<(any Channel)?>(nil)
  private let children = Mutex<[any Channel]>([])
  private let state = Mutex<[Connection]>([])
  private let refusal: RTMPRefusal?
  private let tls: NIOSSLContext?

  /// - Parameter refusal: The answer to each publisher; nil to accept.
  init(refusal: RTMPRefusal? = nil, tls: NIOSSLContext? = nil) {
    self.refusal = refusal
    self.tls = tls
  }

  var connections: [Connection] { self.state.withLock { $0 } }

  /// Listens; returns the port.
  @discardableResult
  func start(port: Int = 0) async throws -> Int {
    let tls = self.tls
    let channel = try await ServerBootstrap(group: self.group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { [weak self] channel in
        guard let self else { return channel.close() }
        self.children.withLock { $0.append(channel) }
        return channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          let index = self.state.withLock { state in
            state.append(Connection())
            return state.count - 1
          }
          try channel.pipeline.syncOperations.addHandler(
            Handler(refusal: self.refusal) { [weak self] change in
              self?.state.withLock { change(&$0[index]) }
            })
        }
      }
      .bind(host: "127.0.0.1", port: port).get()
    self.channel.withLock { $0 = channel }
    return try Self.port(of: channel)
  }

  /// Closes the port and all connections.
  func kill() async {
    let channel = self.channel.withLock { $0.take() }
    try? await channel?.close()
    let children = self.children.withLock { children in
      defer { children = [] }
      return children
    }
    for child in children { try? await child.close() }
  }

  func stop() async {
    await self.kill()
    try? await self.group.shutdownGracefully()
  }

  /// A port at which nothing listens.
  static func closedPort() async throws -> Int {
    let server = TestRTMPServer()
    let port = try await server.start()
    await server.stop()
    return port
  }

  private static func port(of channel: any Channel) throws -> Int {
    guard let port = channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
    return port
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private var session = RTMPServerSession(now: StreamClock.system.now(), makeRandom: { .random(in: 0...UInt64.max) })
    private let refusal: RTMPRefusal?
    private let change: ((inout Connection) -> Void) -> Void

    init(refusal: RTMPRefusal?, change: @escaping ((inout Connection) -> Void) -> Void) {
      self.refusal = refusal
      self.change = change
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      self.perform(self.session.receive(self.unwrapInboundIn(data), now: StreamClock.system.now()), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
      self.change { $0.hasClosed = true }
    }

    private func perform(_ actions: [RTMPServerAction], _ context: ChannelHandlerContext) {
      for action in actions {
        switch action {
        case .send(let bytes): context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        case .decide(let request):
          self.change { $0.request = request }
          let now = StreamClock.system.now()
          self.perform(
            self.refusal.map { self.session.refuse($0, now: now) } ?? self.session.accept(now: now), context)
        case .publish(let message): self.change { $0.messages.append(message) }
        case .stopPublishing: self.change { $0.hasStopped = true }
        case .startPlaying, .stopPlaying: break
        case .close: context.close(promise: nil)
        }
      }
    }
  }
}
