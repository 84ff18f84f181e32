internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Serving

/// A listening socket and the task that serves its connections.
struct Listener: Sendable {
  /// The port in use.
  let port: Int
  private let channel: any Channel
  private let task: Task<Void, Never>

  /// Length of the accept queue: Linux's default `somaxconn`. A SYN dropped at a full queue is sent again after 1 s, then
  /// 3 s, and the player misses segments.
  private static let backlog = 4096

  /// Opens a port, or takes its inherited socket.
  ///
  /// - Parameters:
  ///   - child: Setup and handling of each connection.
  ///   - address: A numeric address.
  ///   - port: The port; 0 for any free one.
  ///   - registry: Counts connections that cannot be accepted.
  ///   - role: The port among those whose sockets outlive the process.
  static func open<Child: ServerChildChannel>(
    _ child: Child, address: String, port: Int, group: any EventLoopGroup, registry: ConnectionRegistry,
    sockets: ListeningSockets, role: ListeningSockets.Role
  ) async throws -> Listener {
    // Hummingbird's log of connections is not for users.
    let logger = Logger(label: "vidicon.http") { _ in SwiftLogNoOpLogHandler() }
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: Int32(Self.backlog))
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers([
            AcceptLimitHandler(registry: registry), AcceptFailureHandler(registry: registry),
          ])
        }
      }
      .childChannelOption(.allowRemoteHalfClosure, value: true)
    let listening: NIOAsyncChannel<Child.Value, Never>
    if let descriptor = sockets.take(role) {
      listening = try await bootstrap.bind(descriptor) { child.setup(channel: $0, logger: logger) }
      await ListeningSockets.setBacklog(Self.backlog, of: listening.channel)
    } else {
      let socketAddress = try SocketAddress(ipAddress: address, port: port)
      listening = try await bootstrap.bind(to: socketAddress) { child.setup(channel: $0, logger: logger) }
      await sockets.opened(role, listening.channel)
    }
    let task = Task<Void, Never> {
      await withDiscardingTaskGroup { group in
        do {
          try await listening.executeThenClose { connections in
            for try await connection in connections {
              group.addTask { await child.handle(value: connection, logger: logger) }
            }
          }
        } catch {
          // The port cannot accept any more, as when it is closed.
        }
      }
    }
    return Listener(port: listening.channel.localAddress?.port ?? port, channel: listening.channel, task: task)
  }

  /// Stops accepting connections.
  func pause() async {
    // Fails on a closed port only.
    try? await self.channel.setOption(.autoRead, value: false).get()
  }

  /// Closes the port.
  func close() async {
    // Fails on a closed port only.
    try? await self.channel.close()
  }

  /// Waits until the port and every connection are closed.
  func waitForEnd() async {
    await self.task.value
  }
}
