import NIOCore
import NIOPosix
import Synchronization

/// An HTTP server on loopback that gives each request the next one of its responses, and closes; it records the requests as text.
final class TestWHIPServer: Sendable {
  private struct State {
    var responses: [String]
    var requests: [String] = []
  }

  /// The state, which the handlers of connections change.
  private final class Record: Sendable {
    let state: Mutex<State>

    init(_ responses: [String]) { self.state = Mutex(State(responses: responses)) }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let respond: (String) -> String
    private var text = ""
    private var hasResponded = false

    init(respond: @escaping (String) -> String) { self.respond = respond }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      self.text += String(buffer: self.unwrapInboundIn(data))
      guard !self.hasResponded, self.isComplete else { return }
      self.hasResponded = true
      let response = self.respond(self.text)
      // The client's end is awaited: what it still sends would make the system reset the connection.
      context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: response))).assumeIsolated().whenComplete { _ in
        context.close(mode: .output, promise: nil)
      }
    }

    private var isComplete: Bool {
      let parts = self.text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return false }
      let line = parts[0].split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      let length = line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
      return parts[1].utf8.count >= length
    }
  }

  private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  private let channel: any Channel
  private let record: Record
  let port: Int

  /// A server that listens.
  ///
  /// - Parameter responses: Whole responses in their order; the last one is repeated.
  init(_ responses: [String]) async throws {
    let record = Record(responses)
    self.record = record
    self.channel = try await ServerBootstrap(group: self.group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Handler { request in
              record.state.withLock { state in
                state.requests.append(request)
                return state.responses.count > 1 ? state.responses.removeFirst() : state.responses[0]
              }
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    guard let port = self.channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
    self.port = port
  }

  /// The requests so far.
  var requests: [String] { self.record.state.withLock { $0.requests } }

  func stop() async {
    try? await self.channel.close()
    try? await self.group.shutdownGracefully()
  }
}
