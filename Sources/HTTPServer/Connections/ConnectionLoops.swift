internal import NIOCore
internal import Serving
internal import Synchronization

/// All connections of a server, by event loop.
struct ConnectionLoops: Sendable {
  /// Polling interval of the waits on shutdown.
  private static let pollInterval = Duration.milliseconds(10)
  /// Maximum number of polls: 300 ms.
  private static let maximumPolls = 30
  /// Maximum number of event loop hops between accept and setup of a connection, plus one.
  private static let maximumLoopHops = 4

  /// The connections of all servers.
  let registry: ConnectionRegistry
  private let loops: [ConnectionLoop]

  /// - Parameters:
  ///   - registry: The connections of all servers.
  ///   - proxies: Numeric addresses of reverse proxies.
  init(
    eventLoops: [any EventLoop], limits: HTTPServerLimits, registry: ConnectionRegistry, proxies: [String]
  ) {
    self.registry = registry
    self.loops = eventLoops.map {
      ConnectionLoop(eventLoop: $0, limits: limits, registry: registry, proxies: proxies)
    }
  }

  subscript(eventLoop: any EventLoop) -> ConnectionLoop {
    // Safe because connections run on the event loops passed to `init` only.
    self.loops.first { $0.eventLoop === eventLoop }!
  }

  /// Open connections.
  var count: Int { self.loops.reduce(0) { $0 + $1.count.load(ordering: .relaxed) } }

  /// Connections with an unfinished response.
  var active: Int { self.loops.reduce(0) { $0 + $1.active.load(ordering: .relaxed) } }

  /// Connections closed because the client was too slow.
  var timedOut: Int { self.loops.reduce(0) { $0 + $1.timedOut.load(ordering: .relaxed) } }

  /// Waits until the task of each accepted connection has started, at most 300 ms.
  ///
  /// Closing the port while a connection is on its way to its task would drop the connection's `NIOAsyncChannel` without
  /// finishing it, which NIO treats as a precondition failure.
  func waitForTasks() async {
    for _ in 0..<Self.maximumLoopHops {
      // Fails only after shutdown of the event loop, when no connection is left.
      for loop in self.loops { try? await loop.eventLoop.submit {}.get() }
    }
    for _ in 0..<Self.maximumPolls where self.loops.contains(where: { $0.pending.load(ordering: .relaxed) > 0 }) {
      // Throws, and thereby ends the wait, on cancellation.
      try? await Task.sleep(for: Self.pollInterval)
    }
  }

  /// Lets connections in after ``closeAll()``.
  func open() async {
    for loop in self.loops { await loop.open() }
  }

  /// Closes every connection, after at most 300 ms for unfinished responses.
  func closeAll() async {
    for _ in 0..<Self.maximumPolls where self.active > 0 {
      // Throws, and thereby ends the wait, on cancellation.
      try? await Task.sleep(for: Self.pollInterval)
    }
    for loop in self.loops { await loop.closeAll() }
  }
}
