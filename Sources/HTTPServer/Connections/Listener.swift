internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Serving
internal import Synchronization

/// A listening socket and the task that serves its connections.
struct Listener: Sendable {
  /// The port in use.
  let port: Int
  private let channel: any Channel
  private let task: Task<Void, Never>

  /// Length of the accept queue: Linux's default `somaxconn`. A SYN dropped at a full queue is sent again after 1 s, then
  /// 3 s, and the player misses segments.
  private static let backlog = 4096

  /// Opens a port.
  ///
  /// - Parameters:
  ///   - channel: Setup and handling of each connection.
  ///   - address: A numeric address.
  ///   - port: The port; 0 for any free one.
  ///   - registry: Counts connections that cannot be accepted.
  static func open(
    _ channel: some ServerChildChannel, address: String, port: Int, group: any EventLoopGroup,
    registry: ConnectionRegistry
  ) async throws -> Listener {
    let (opened, continuation) = AsyncStream<Result<any Channel, any Error>>.makeStream()
    // Hummingbird's log of connections is not for users.
    let logger = Logger(label: "vidicon.http") { _ in SwiftLogNoOpLogHandler() }
    let server = Server(
      childChannelSetup: channel,
      configuration: ServerConfiguration(address: .hostname(address, port: port), backlog: Self.backlog),
      onServerRunning: { continuation.yield(.success($0)) }, eventLoopGroup: group, logger: logger)
    let task = Task {
      do {
        try await server.run()
      } catch {
        continuation.yield(.failure(error))
      }
      // Without either result the server was cancelled before it started.
      continuation.finish()
    }
    for await result in opened {
      let channel = try result.get()
      try await channel.pipeline.addHandler(AcceptFailureHandler(registry: registry), position: .first).get()
      try await channel.pipeline.addHandler(AcceptLimitHandler(registry: registry), position: .first).get()
      return Listener(port: channel.localAddress?.port ?? port, channel: channel, task: task)
    }
    throw CancellationError()
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
