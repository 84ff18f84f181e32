internal import NIOCore
internal import Synchronization

/// The connections of a server, by event loop.
struct ConnectionLoops: Sendable {
  private static let lastMoment = Duration.milliseconds(10)
  private static let lastMoments = 30
  /// How often a connection changes its event loop on its way from the port to its setup, and one more.
  private static let changesOfLoops = 4

  private let loops: [ConnectionLoop]

  /// - Parameter limits: Those for all event loops together.
  init(eventLoops: [any EventLoop], limits: HTTPServerLimits, most: Int) {
    let share = (most + eventLoops.count - 1) / eventLoops.count
    self.loops = eventLoops.map { ConnectionLoop(eventLoop: $0, limits: limits, most: share) }
  }

  subscript(eventLoop: any EventLoop) -> ConnectionLoop {
    // No trap: connections are on the event loops that the server was made with.
    self.loops.first { $0.eventLoop === eventLoop }!
  }

  /// Open connections.
  var count: Int { self.loops.reduce(0) { $0 + $1.count.load(ordering: .relaxed) } }

  /// Connections with a request to answer.
  var working: Int { self.loops.reduce(0) { $0 + $1.working.load(ordering: .relaxed) } }

  /// Connections closed since others needed the room.
  var crowdedOut: Int { self.loops.reduce(0) { $0 + $1.crowdedOut.load(ordering: .relaxed) } }

  /// Connections closed since they were too slow.
  var timedOut: Int { self.loops.reduce(0) { $0 + $1.timedOut.load(ordering: .relaxed) } }

  /// Returns when each connection that was accepted is with the task that answers it, if none comes meanwhile. One that
  /// found its port closed on the way would be let go without its end, at which NIO ends the program.
  func waitForTasks() async {
    for _ in 0..<Self.changesOfLoops {
      // An event loop that has ended has no connections.
      for loop in self.loops { try? await loop.eventLoop.submit {}.get() }
    }
    for _ in 0..<Self.lastMoments where self.loops.contains(where: { $0.opening.load(ordering: .relaxed) > 0 }) {
      // Cancelled, it is over at once.
      try? await Task.sleep(for: Self.lastMoment)
    }
  }

  /// Closes every connection; those with a request that can be answered at once have a moment for it.
  func closeAll() async {
    for _ in 0..<Self.lastMoments where self.working > 0 {
      // Cancelled, it is over at once.
      try? await Task.sleep(for: Self.lastMoment)
    }
    for loop in self.loops { await loop.closeAll() }
  }
}
