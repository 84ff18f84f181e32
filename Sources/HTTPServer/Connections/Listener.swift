internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// An open port, and the task that answers what comes there.
struct Listener: Sendable {
  /// The port in use.
  let port: Int
  private let channel: any Channel
  private let task: Task<Void, Never>

  /// Connections that the system keeps until they are accepted: what Linux allows by default. A player that finds no room
  /// tries again after one second, then three, and misses segments.
  private static let backlog = 4096

  /// Opens a port.
  ///
  /// - Parameters:
  ///   - channel: What a connection is made of.
  ///   - address: A numeric address.
  ///   - port: The port; 0 for any free one.
  static func open(
    _ channel: some ServerChildChannel, address: String, port: Int, group: any EventLoopGroup
  ) async throws -> Listener {
    let (opened, continuation) = AsyncStream<Result<any Channel, any Error>>.makeStream()
    // What Hummingbird has to say of connections is for its own developers.
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
      // Without either, it was ended before it began.
      continuation.finish()
    }
    for await result in opened {
      let channel = try result.get()
      return Listener(port: channel.localAddress?.port ?? port, channel: channel, task: task)
    }
    throw CancellationError()
  }

  /// Accepts no other connection.
  func pause() async {
    // A port that is closed accepts none either.
    try? await self.channel.setOption(.autoRead, value: false).get()
  }

  /// Closes the port.
  func close() async {
    // One that is closed already is what is wanted.
    try? await self.channel.close()
  }

  /// Returns when the port and every connection that came there are closed.
  func waitForEnd() async {
    await self.task.value
  }
}
