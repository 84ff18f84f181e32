internal import Media
internal import NIOCore
internal import Synchronization

/// The connections of one event loop: counts them, closes one that is idle when there are too many, and those that take too
/// long.
///
/// Lives on its event loop but for the counter and ``closeAll()``. The system hands connections to the event loops in
/// turn, so a share of the limit for each is the limit for all.
final class ConnectionLoop: Sendable {
  /// A list in which each connection knows its neighbours.
  private struct List {
    var all: [ObjectIdentifier: ConnectionGuard] = [:]
    /// Those without a request that had one before, such as a player's between two, the longest idle first.
    var idle = IdleConnections()
    /// Those on which no request has come yet, the oldest first.
    var unused = IdleConnections()
    var sweep: RepeatedTask?
    var isClosed = false
  }

  let eventLoop: any EventLoop
  let executor: EventLoopExecutor
  let limits: HTTPServerLimits
  /// Open connections.
  let count = Atomic(0)
  /// Connections that are accepted and that no task has yet.
  let opening = Atomic(0)
  /// Open connections with a request to answer.
  let working = Atomic(0)
  /// Connections closed since others needed the room.
  let crowdedOut = Atomic(0)
  /// Connections closed since they took nothing, or sent no whole request, for too long.
  let timedOut = Atomic(0)
  private let most: Int
  private let list: NIOLoopBoundBox<List>

  /// - Parameter most: The most connections that may be open here.
  init(eventLoop: any EventLoop, limits: HTTPServerLimits, most: Int) {
    self.eventLoop = eventLoop
    self.executor = EventLoopExecutor(eventLoop)
    self.limits = limits
    self.most = max(1, most)
    self.list = .makeBoxSendingValue(List(), eventLoop: eventLoop)
  }

  /// How often connections are looked at for their time limits.
  static let sweepInterval = TimeAmount.seconds(1)

  /// Adds a connection, and makes room for it.
  ///
  /// - Returns: False when there is no room, since all others have work to do, or the server has ended.
  func add(_ connection: ConnectionGuard) -> Bool {
    if self.list.value.isClosed { return false }
    if self.list.value.all.count >= self.most {
      guard let oldest = self.leastNeeded else {
        self.crowdedOut.add(1, ordering: .relaxed)
        return false
      }
      self.crowdedOut.add(1, ordering: .relaxed)
      self.remove(oldest)
      oldest.close()
    }
    self.list.value.all[ObjectIdentifier(connection)] = connection
    self.list.value.unused.append(connection)
    self.count.add(1, ordering: .relaxed)
    if self.list.value.sweep == nil {
      self.list.value.sweep = self.eventLoop.scheduleRepeatedTask(
        initialDelay: Self.sweepInterval, delay: Self.sweepInterval
      ) { [weak self] in self?.sweep($0) }
    }
    return true
  }

  /// Forgets a connection; without effect when it is not there.
  func remove(_ connection: ConnectionGuard) {
    guard self.list.value.all.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    if connection.isListedIdle {
      self.unlist(connection)
    } else {
      self.working.subtract(1, ordering: .relaxed)
    }
    self.count.subtract(1, ordering: .relaxed)
  }

  /// A connection has begun to answer requests, or has no more to answer.
  func setIdle(_ connection: ConnectionGuard, _ isIdle: Bool) {
    guard self.list.value.all[ObjectIdentifier(connection)] != nil else { return }
    if isIdle {
      self.list.value.idle.append(connection)
      self.working.subtract(1, ordering: .relaxed)
    } else {
      self.unlist(connection)
      self.working.add(1, ordering: .relaxed)
    }
  }

  /// The connection that is idle for the longest time; of those on which no request has come yet, if these are more than
  /// half of all: whoever opens them by the thousand then closes their own, and not those of players.
  private var leastNeeded: ConnectionGuard? {
    let (unused, idle) = (self.list.value.unused, self.list.value.idle)
    guard let newcomer = unused.first, let known = idle.first else { return unused.first ?? idle.first }
    return unused.count > self.most / 2 || newcomer.idleSince < known.idleSince ? newcomer : known
  }

  private func unlist(_ connection: ConnectionGuard) {
    if connection.hasAsked {
      self.list.value.idle.remove(connection)
    } else {
      self.list.value.unused.remove(connection)
    }
  }

  /// Closes every connection, and takes no other; from any thread.
  func closeAll() async {
    // An event loop that has ended has no connections.
    try? await self.eventLoop.submit {
      self.list.value.isClosed = true
      for connection in Array(self.list.value.all.values) { connection.close() }
      self.list.value.sweep?.cancel()
      self.list.value.sweep = nil
    }.get()
  }

  private func sweep(_ task: RepeatedTask) {
    let now = NIODeadline.now()
    for connection in Array(self.list.value.all.values) where connection.isOverdue(at: now) {
      self.timedOut.add(1, ordering: .relaxed)
      connection.close()
    }
    guard self.list.value.all.isEmpty else { return }
    task.cancel()
    self.list.value.sweep = nil
  }
}

/// The connections that have no request to answer, in the order in which they became so: a list in which each knows its
/// neighbours, so that one is taken out in the same time however many there are.
struct IdleConnections {
  private(set) var first: ConnectionGuard?
  private(set) var count = 0
  private var last: ConnectionGuard?

  /// Puts a connection at the end; it must not be in the list.
  mutating func append(_ connection: ConnectionGuard) {
    connection.previousIdle = self.last
    connection.nextIdle = nil
    connection.isListedIdle = true
    if let last = self.last { last.nextIdle = connection } else { self.first = connection }
    self.last = connection
    self.count += 1
  }

  /// Takes a connection out; without effect when it is not in the list.
  mutating func remove(_ connection: ConnectionGuard) {
    guard connection.isListedIdle else { return }
    connection.isListedIdle = false
    self.count -= 1
    if let previous = connection.previousIdle {
      previous.nextIdle = connection.nextIdle
    } else {
      self.first = connection.nextIdle
    }
    if let next = connection.nextIdle {
      next.previousIdle = connection.previousIdle
    } else {
      self.last = connection.previousIdle
    }
    connection.previousIdle = nil
    connection.nextIdle = nil
  }
}
