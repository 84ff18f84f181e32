import NIOCore
import NIOPosix
import RTMP
import Synchronization
import Threading

/// A server on loopback that ends each connection amid a message: it sends half of the bytes that complete a step of the client.
final class CutServer: Sendable {
  /// The step of the client that is not completed: S0 S1 S2, the result of `connect`, or the status of `publish`.
  enum Step: CaseIterable {
    case handshake, connect, request
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let channel: any Channel
  let port: Int

  /// A server that listens.
  init(at step: Step) async throws {
    self.channel = try await ServerBootstrap(group: self.group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(step: step))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    guard let port = self.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
    self.port = port
  }

  func stop() async {
    try? await self.channel.close()
    try? await self.group.shutdownGracefully()
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private var session = RTMPServerSession(now: StreamClock.system.now(), makeRandom: { .random(in: 0...UInt64.max) })
    private let step: Step
    /// The step that the next bytes complete.
    private var current = Step.handshake
    private var isCut = false

    init(step: Step) {
      self.step = step
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      self.perform(self.session.receive(self.unwrapInboundIn(data), now: StreamClock.system.now()), context)
    }

    private func perform(_ actions: [RTMPServerAction], _ context: ChannelHandlerContext) {
      for action in actions {
        if self.isCut { return }
        switch action {
        case .send(let bytes): self.send(bytes, context)
        case .decide:
          self.current = .request
          self.perform(self.session.accept(now: StreamClock.system.now()), context)
        default: break
        }
      }
    }

    private func send(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
      guard self.current == self.step else {
        if self.current == .handshake { self.current = .connect }
        return context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
      }
      self.isCut = true
      let half = bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? ByteBuffer()
      context.writeAndFlush(self.wrapOutboundOut(half), promise: nil)
      // The client's end is awaited: what it still sends would make the system reset the connection.
      context.close(mode: .output, promise: nil)
    }
  }
}
