package import Authentication
internal import Libc
internal import Synchronization

/// The open connections of all servers of a process, with one limit.
///
/// A connection of HTTP/2 can carry a hundred responses, each of which takes as much memory as a connection: each of its
/// streams but one is registered too.
///
/// Each server registers its accepted connections and reports their use; a connection that a new one displaces, see
/// ``ConnectionTable``, is closed from the thread that registers the new one. Callable from any thread.
package final class ConnectionRegistry: Sendable {
  /// Entry of an accepted connection, by which its handler reports use and end.
  package struct Registration: Sendable {
    fileprivate let registry: ConnectionRegistry
    fileprivate let id: ConnectionTable.ID

    /// Changes what the connection is used for; without effect after its displacement.
    package func setUse(_ use: ConnectionTable.Use) {
      self.registry.state.withLock { $0.table.setUse(use, of: self.id) }
    }

    /// Counts the connection for another network, that of the client that a proxy has named; without effect after its
    /// displacement.
    package func setNetwork(_ network: IPAddress?) {
      self.registry.state.withLock { $0.table.setNetwork(network, of: self.id) }
    }

    /// Whether the connection was closed for another one, or for lack of descriptors.
    var isDisplaced: Bool {
      self.registry.state.withLock { $0.entries[self.id] == nil }
    }

    /// Reports an event of the connection to the owner of the servers.
    func report(_ event: ServerEvent) {
      self.registry.log(event)
    }

    /// Removes the connection, which is closed; without effect after its displacement.
    package func remove() {
      self.registry.state.withLock { state in
        if state.table.remove(self.id) { state.entries[self.id] = nil }
      }
    }
  }

  private struct Entry {
    var close: @Sendable () -> Void
    /// Whether it is a stream of a connection, and has no descriptor.
    var isStream: Bool
  }

  private struct State {
    var table: ConnectionTable
    /// Maximum number of connections at a time since the last ``ConnectionRegistry/takePeakCount()``.
    var peakCount = 0
    var entries: [ConnectionTable.ID: Entry] = [:]
  }

  /// Maximum number of streams of an HTTP/2 connection, `SETTINGS_MAX_CONCURRENT_STREAMS`.
  private static let maximumStreams = 100

  private let state: Mutex<State>
  /// Refusals of all servers.
  package let refusals: RefusalCounters
  /// Receives the events of all servers for the log of their owner, on any thread.
  package let log: @Sendable (ServerEvent) -> Void
  private let acceptFailureCount = Atomic(0)
  /// Accepted connections that are not closed yet, registered or not.
  private let acceptedCount = Atomic(0)
  /// Maximum of ``acceptedCount``: the registered connections, and some on their way in or out.
  private let acceptedLimit: Int
  /// Whether no connection is to be accepted before ``release()``.
  private let held = Atomic(false)
  /// Connections beyond the maximum that may be accepted before others are closed; fewer than ``OpenFileLimit/reserve``.
  static let acceptedMargin = 32

  /// - Parameters:
  ///   - maximumCount: Maximum number of connections, at least 1.
  ///   - refusals: Counts connections over the limit, and what else servers refuse.
  ///   - log: Receives the events of all servers, on any thread.
  package init(
    maximumCount: Int = OpenFileLimit.maximumConnections, refusals: RefusalCounters = RefusalCounters(),
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }
  ) {
    self.refusals = refusals
    self.log = log
    self.state = Mutex(State(table: ConnectionTable(maximumCount: maximumCount)))
    self.acceptedLimit = maximumCount + Self.acceptedMargin
  }

  /// Maximum number of registered connections at a time, over all servers.
  package var maximumCount: Int { self.state.withLock { $0.table.maximumCount } }

  /// Number of open connections, and of further streams of HTTP/2.
  package var count: Int { self.state.withLock { $0.table.count } }

  /// Number of connections of a network; of clients without an IP address for nil.
  package func count(of network: IPAddress?) -> Int { self.state.withLock { $0.table.count(of: network) } }

  /// Returns the maximum number of connections at a time since the last call.
  func takePeakCount() -> Int {
    self.state.withLock { state in
      defer { state.peakCount = state.table.count }
      return state.peakCount
    }
  }

  /// Times that the system had no descriptor or memory for a new connection, upon which a server accepts none for a second.
  package var acceptFailures: Int { self.acceptFailureCount.load(ordering: .relaxed) }

  /// Whether no further connection is to be accepted until one is closed.
  var isOutOfDescriptors: Bool { self.acceptedCount.load(ordering: .relaxed) >= self.acceptedLimit }

  /// Whether connections wait in the queues of the ports.
  package var isHeld: Bool { self.held.load(ordering: .relaxed) }

  /// Lets connections wait until ``release()``: the streams that they ask for are not there yet.
  package func hold() { self.held.store(true, ordering: .relaxed) }

  /// Accepts the connections that wait, and all others at once.
  package func release() { self.held.store(false, ordering: .relaxed) }

  /// Counts an accepted connection.
  func countAccepted() { self.acceptedCount.add(1, ordering: .relaxed) }

  /// Counts the end of an accepted connection.
  func countClosed() { self.acceptedCount.subtract(1, ordering: .relaxed) }

  /// Registers a connection, or a further stream of one; at the limit closes another one.
  ///
  /// - Parameter close: Closes it; called at most once, on any thread.
  /// - Returns: nil when the connection must be closed.
  package func register(
    from network: IPAddress?, isStream: Bool = false, close: @escaping @Sendable () -> Void
  ) -> Registration? {
    let (admission, displaced) = self.state.withLock { state in
      let admission = state.table.add(network)
      var displaced: (@Sendable () -> Void)?
      switch admission {
      case .refused: break
      case .admitted(let id, let closing):
        if let closing { displaced = state.entries.removeValue(forKey: closing)?.close }
        state.entries[id] = Entry(close: close, isStream: isStream)
        state.peakCount = max(state.peakCount, state.table.count)
      }
      return (admission, displaced)
    }
    if let displaced {
      self.refusals.count(.overLimit)
      displaced()
    }
    guard case .admitted(let id, _) = admission else {
      self.refusals.count(.overLimit)
      return nil
    }
    return Registration(registry: self, id: id)
  }

  /// Counts an `accept` that failed for lack of descriptors or memory, and closes the least useful connection of the network
  /// with the most, so that its descriptor becomes free.
  package func handleAcceptFailure() {
    self.acceptFailureCount.add(1, ordering: .relaxed)
    let displaced = self.state.withLock { state in
      var displaced: [Entry] = []
      // Streams have no descriptors; a connection has at most this many.
      while displaced.count <= Self.maximumStreams, displaced.last?.isStream ?? true,
        let entry = state.table.evict().flatMap({ state.entries.removeValue(forKey: $0) })
      {
        displaced.append(entry)
      }
      return displaced
    }
    for entry in displaced {
      self.refusals.count(.overLimit)
      entry.close()
    }
  }
}

/// The limit of open files of this process, `RLIMIT_NOFILE`.
package enum OpenFileLimit {
  /// Maximum number of connections whatever the limit of open files is: each takes some 20 kB with its buffers, 10,000 take
  /// 200 MB.
  package static let maximumUsefulConnections = 10_000
  /// Descriptors for everything else: cameras, recordings, downloads, sources, sockets on their way to their server.
  static let reserve = 128

  /// Maximum number of connections that the current limit of open files leaves room for, 1 to
  /// ``maximumUsefulConnections``.
  package static var maximumConnections: Int {
    var limit = rlimit()
    #if canImport(Darwin)
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #else
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #endif
    return Self.maximumConnections(openFiles: result == 0 ? Int(clamping: limit.rlim_cur) : 1024)
  }

  /// Maximum number of connections that a limit of open files leaves room for.
  ///
  /// - Parameter openFiles: The limit of open files. Half of it is reserved when it is below 256.
  package static func maximumConnections(openFiles: Int) -> Int {
    max(1, min(Self.maximumUsefulConnections, openFiles - min(Self.reserve, openFiles / 2)))
  }
}
