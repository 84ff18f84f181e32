import Libc
import Media
import NIOCore
import NIOPosix
import NIOSSL
import RTMP
import Synchronization
import Threading

/// A server on loopback that accepts publishers, and keeps what they send.
final class TestRTMPServer: Sendable {
  /// Request, messages and bytes of one connection.
  struct Connection: Sendable {
    var request: RTMPStreamRequest?
    var messages: [RTMPMessage] = []
    var hasStopped = false
    var hasClosed = false
    /// Bytes that were received, those of TLS not included, and whether the client has reset the connection.
    var byteCount = 0
    var wasReset = false
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let channel = Mutex<(any Channel)?>(nil)
  private let children = Mutex<[any Channel]>([])
  private let state = Mutex<[Connection]>([])
  private let refusal: RTMPRefusal?
  private let tls: NIOSSLContext?
  private let stopsReading: Bool
  private let answers: Mutex<[RTMPCommand]>

  /// - Parameters:
  ///   - refusal: The answer to each publisher; nil to accept.
  ///   - stopsReading: Whether nothing is read from the first publisher, once it is accepted, until ``resumeReading()``.
  ///   - answers: Commands with which the first publishers are refused.
  init(
    refusal: RTMPRefusal? = nil, tls: NIOSSLContext? = nil, stopsReading: Bool = false, answers: [RTMPCommand] = []
  ) {
    self.stopsReading = stopsReading
    self.answers = Mutex(answers)
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
      .serverChannelOption(.socketOption(.so_rcvbuf), value: self.stopsReading ? 4096 : 256 << 10)
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
            Handler(
              refusal: self.refusal, stopsReading: self.stopsReading && index == 0,
              answer: self.answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            ) { [weak self] change in
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

  /// Ends the connections as a server that is killed does: with TLS, without the end of TLS. What publishers still send is read: it
  /// would make the system reset the connection.
  func crash() async throws {
    for child in self.children.withLock({ $0 }) {
      try await child.eventLoop.submit {
        let tls = try child.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        tls.close(mode: .output, promise: nil)
      }.get()
    }
  }

  /// Reads what publishers have sent.
  func resumeReading() async {
    // A connection that was reset is closed already.
    for child in self.children.withLock({ $0 }) { try? await child.setOption(.autoRead, value: true).get() }
  }

  /// Sends a command to all publishers.
  func send(_ command: RTMPCommand) async throws {
    for child in self.children.withLock({ $0 }) {
      var bytes = ByteBuffer()
      var writer = RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize)
      writer.write(command.message(), into: &bytes)
      try await child.writeAndFlush(bytes)
    }
  }

  func stop() async {
    await self.kill()
    try? await self.group.shutdownGracefully()
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
    private let stopsReading: Bool
    private var answer: RTMPCommand?
    private let change: ((inout Connection) -> Void) -> Void

    init(
      refusal: RTMPRefusal?, stopsReading: Bool, answer: RTMPCommand?,
      change: @escaping ((inout Connection) -> Void) -> Void
    ) {
      self.refusal = refusal
      self.stopsReading = stopsReading
      self.answer = answer
      self.change = change
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = self.unwrapInboundIn(data)
      self.change { $0.byteCount += bytes.readableBytes }
      self.perform(self.session.receive(bytes, now: StreamClock.system.now()), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
      self.change { $0.hasClosed = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let error = error as? IOError, error.errnoCode == ECONNRESET { self.change { $0.wasReset = true } }
      context.close(promise: nil)
    }

    /// Closes the connection with a command as the last word.
    private func answerInstead(_ command: RTMPCommand, _ context: ChannelHandlerContext) {
      var bytes = ByteBuffer()
      var writer = RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize)
      writer.write(command.message(streamID: 1), into: &bytes)
      let channel = context.channel
      context.writeAndFlush(self.wrapOutboundOut(bytes)).whenComplete { _ in channel.close(promise: nil) }
    }

    private func perform(_ actions: [RTMPServerAction], _ context: ChannelHandlerContext) {
      for action in actions {
        switch action {
        case .send(let bytes): context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
        case .decide(let request):
          if let command = self.answer.take() { return self.answerInstead(command, context) }
          if self.stopsReading { _ = context.channel.setOption(.autoRead, value: false) }
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
