internal import Authentication
internal import Media
internal import NIOCore
internal import Serving
internal import Synchronization

/// The HTTP connections of one event loop: registers them in the table of all connections, and closes those that exceed a
/// time limit.
///
/// Used on its event loop only, except for the counters and ``closeAll()``.
final class ConnectionLoop: Sendable {
  private struct List {
    var all: [ObjectIdentifier: ConnectionGuard] = [:]
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
  /// Connections closed because the client read nothing, or sent no complete request, in time.
  let timedOut = Atomic(0)
  let registry: ConnectionRegistry
  /// Numeric addresses of reverse proxies.
  let proxies: [String]
  private let list: NIOLoopBoundBox<List>

  /// - Parameters:
  ///   - registry: The connections of all event loops and servers.
  ///   - proxies: Numeric addresses of reverse proxies, whose connections count for the clients that they name.
  init(eventLoop: any EventLoop, limits: HTTPServerLimits, registry: ConnectionRegistry, proxies: [String] = []) {
    self.eventLoop = eventLoop
    self.executor = EventLoopExecutor(eventLoop)
    self.limits = limits
    self.registry = registry
    self.proxies = proxies
    self.list = .makeBoxSendingValue(List(), eventLoop: eventLoop)
  }

  /// Interval of the check for exceeded time limits.
  static let sweepInterval = TimeAmount.seconds(1)

  /// Registers a connection; at the limit another one is closed, of any event loop or server.
  ///
  /// - Returns: False when the connection must be closed: at the limit, when its network has the most connections and
  ///   uses all of them; and after ``closeAll()``.
  func add(_ connection: ConnectionGuard, on channel: any Channel) -> Bool {
    if self.list.value.isClosed { return false }
    let registration = self.registry.register(from: IPAddress.network(of: channel.remoteAddress)) {
      channel.close(promise: nil)
    }
    guard let registration else { return false }
    connection.registration = registration
    self.list.value.all[ObjectIdentifier(connection)] = connection
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
    connection.registration?.remove()
    if connection.use > .idle { self.active.subtract(1, ordering: .relaxed) }
    self.count.subtract(1, ordering: .relaxed)
  }

  /// Updates the table before a connection changes its use.
  func willChange(_ connection: ConnectionGuard, to use: ConnectionTable.Use) {
    guard self.list.value.all[ObjectIdentifier(connection)] != nil else { return }
    connection.registration?.setUse(use)
    switch (connection.use > .idle, use > .idle) {
    case (false, true): self.active.add(1, ordering: .relaxed)
    case (true, false): self.active.subtract(1, ordering: .relaxed)
    default: break
    }
  }

  /// Lets connections in after ``closeAll()``. Callable from any thread.
  func open() async {
    // Fails only after shutdown of the event loop.
    try? await self.eventLoop.submit { self.list.value.isClosed = false }.get()
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
