internal import Media
internal import NIOCore
internal import Synchronization

/// The connections of one event loop: counts them, evicts an idle one when there are too many, and closes those that exceed
/// a time limit.
///
/// Used on its event loop only, except for the counters and ``closeAll()``. NIO assigns connections to event loops round
/// robin, so each enforces its share of the limit.
final class ConnectionLoop: Sendable {
  private struct List {
    var all: [ObjectIdentifier: ConnectionGuard] = [:]
    /// Idle connections that have sent a request before, longest idle first.
    var idle = IdleConnections()
    /// Connections that have not sent a request yet, oldest first.
    var unused = IdleConnections()
    var sweep: RepeatedTask?
    var isClosed = false
  }

  let eventLoop: any EventLoop
  let executor: EventLoopExecutor
  let limits: HTTPServerLimits
  /// Open connections.
  let count = Atomic(0)
  /// Accepted connections whose task has not started yet.
  let pending = Atomic(0)
  /// Open connections with an unfinished response.
  let active = Atomic(0)
  /// Connections closed or rejected because the limit was reached.
  let evicted = Atomic(0)
  /// Connections closed because the client read nothing, or sent no complete request, in time.
  let timedOut = Atomic(0)
  private let maximumConnections: Int
  private let list: NIOLoopBoundBox<List>

  /// - Parameter maximumConnections: Maximum number of open connections on this event loop; at least 1.
  init(eventLoop: any EventLoop, limits: HTTPServerLimits, maximumConnections: Int) {
    self.eventLoop = eventLoop
    self.executor = EventLoopExecutor(eventLoop)
    self.limits = limits
    self.maximumConnections = max(1, maximumConnections)
    self.list = .makeBoxSendingValue(List(), eventLoop: eventLoop)
  }

  /// Interval of the check for exceeded time limits.
  static let sweepInterval = TimeAmount.seconds(1)

  /// Registers a connection; evicts another one at the limit.
  ///
  /// - Returns: False when the limit is reached and no connection is idle, or after ``closeAll()``.
  func add(_ connection: ConnectionGuard) -> Bool {
    if self.list.value.isClosed { return false }
    if self.list.value.all.count >= self.maximumConnections {
      guard let oldest = self.evictionCandidate else {
        self.evicted.add(1, ordering: .relaxed)
        return false
      }
      self.evicted.add(1, ordering: .relaxed)
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

  /// Unregisters a connection; no effect when it is not registered.
  func remove(_ connection: ConnectionGuard) {
    guard self.list.value.all.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    if connection.isListedIdle {
      self.unlist(connection)
    } else {
      self.active.subtract(1, ordering: .relaxed)
    }
    self.count.subtract(1, ordering: .relaxed)
  }

  /// Updates whether a connection has no open request.
  func setIdle(_ connection: ConnectionGuard, _ isIdle: Bool) {
    guard self.list.value.all[ObjectIdentifier(connection)] != nil else { return }
    if isIdle {
      self.list.value.idle.append(connection)
      self.active.subtract(1, ordering: .relaxed)
    } else {
      self.unlist(connection)
      self.active.add(1, ordering: .relaxed)
    }
  }

  /// The connection to close at the limit: the one that has been idle longest. When more than half of the limit never sent
  /// a request, the oldest of these, so that a client that opens thousands evicts its own connections, not players'.
  private var evictionCandidate: ConnectionGuard? {
    let (unused, idle) = (self.list.value.unused, self.list.value.idle)
    guard let newcomer = unused.first, let known = idle.first else { return unused.first ?? idle.first }
    return unused.count > self.maximumConnections / 2 || newcomer.idleSince < known.idleSince ? newcomer : known
  }

  private func unlist(_ connection: ConnectionGuard) {
    if connection.hasReceivedRequest {
      self.list.value.idle.remove(connection)
    } else {
      self.list.value.unused.remove(connection)
    }
  }

  /// Closes every connection and rejects further ones. Callable from any thread.
  func closeAll() async {
    // Fails only after shutdown of the event loop, when no connection is left.
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

/// Idle connections in the order in which they became idle: an intrusive doubly linked list with removal in O(1).
struct IdleConnections {
  private(set) var first: ConnectionGuard?
  private(set) var count = 0
  private var last: ConnectionGuard?

  /// Appends a connection that is not in the list.
  mutating func append(_ connection: ConnectionGuard) {
    connection.previousIdle = self.last
    connection.nextIdle = nil
    connection.isListedIdle = true
    if let last = self.last { last.nextIdle = connection } else { self.first = connection }
    self.last = connection
    self.count += 1
  }

  /// Removes a connection; no effect when it is not in the list.
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
