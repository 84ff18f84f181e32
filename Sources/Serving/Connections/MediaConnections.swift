internal import NIOCore
internal import Synchronization

/// The open connections of a server. Callable from any thread.
package final class MediaConnections: Sendable {
  private struct Entry {
    var channel: any Channel
    var connection: NIOLoopBound<MediaConnection>
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// Whether the server has stopped: connections that were accepted before, and are added now, end at once.
    var isClosed = false
  }

  private let state = Mutex(State())

  /// Creates a list without connections.
  package init() {}

  /// Number of open connections.
  package var count: Int { self.state.withLock { $0.entries.count } }

  /// Adds a connection that is open; called on its event loop.
  func add(_ connection: MediaConnection, _ channel: any Channel) {
    let entry = Entry(channel: channel, connection: NIOLoopBound(connection, eventLoop: connection.eventLoop))
    let isClosed = self.state.withLock { state in
      state.entries[ObjectIdentifier(connection)] = entry
      return state.isClosed
    }
    if isClosed { connection.eventLoop.execute { entry.connection.value.serverStops() } }
  }

  /// Removes a connection that has ended.
  func remove(_ connection: MediaConnection) {
    self.state.withLock { $0.entries[ObjectIdentifier(connection)] = nil }
  }

  /// Calls `body` for each connection, later, on its event loop.
  package func forEach(_ body: @escaping @Sendable (MediaConnection) -> Void) {
    for entry in self.state.withLock({ Array($0.entries.values) }) {
      entry.connection.eventLoop.execute { body(entry.connection.value) }
    }
  }

  /// Lets connections stay that are added from now on.
  func open() {
    self.state.withLock { $0.isClosed = false }
  }

  /// Lets every connection end, also those that are added later, and waits until those of now are closed.
  func close() async {
    let all = self.state.withLock { state in
      state.isClosed = true
      return Array(state.entries.values)
    }
    for entry in all { entry.connection.eventLoop.execute { entry.connection.value.serverStops() } }
    for entry in all {
      // An error means that the connection is closed already.
      try? await entry.channel.closeFuture.get()
    }
  }
}
