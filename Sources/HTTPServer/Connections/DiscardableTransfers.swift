internal import NIOCore
internal import Synchronization

/// The connections that send content of one origin that may be discarded, such as the frames of a stream: they are reset then, since
/// what a connection holds cannot be taken back in another way.
///
/// A connection is reset while such a response is being written, and as long as its client has not received all of it: the system
/// takes more of a response than a slow client reads in seconds.
package final class DiscardableTransfers: Sendable {
  /// A response with content that was requested before ``discardEarlier()``.
  struct Discarded: Error {}

  private struct Connection {
    let channel: any Channel
    /// Number of responses that are being written.
    var openCount = 0
  }

  /// One response with content of the origin, or a part of one.
  package struct Transfer: Sendable {
    fileprivate let transfers: DiscardableTransfers
    fileprivate let generation: Int
  }

  /// Number of calls of ``discardEarlier()``; changed with the lock held.
  private let generation = Atomic(0)
  private let connections = Mutex([ObjectIdentifier: Connection]())

  /// Creates transfers of an origin of which none was made before.
  package init() {}

  /// Creates a transfer; call it before the content is taken from its origin.
  package func transfer() -> Transfer {
    Transfer(transfers: self, generation: self.generation.load(ordering: .sequentiallyConsistent))
  }

  /// Resets the connections on which content of transfers from before this call may still be sent. Callable from any thread, after
  /// the origin has discarded it.
  package func discardEarlier() {
    let connections = self.connections.withLock { connections in
      self.generation.add(1, ordering: .sequentiallyConsistent)
      return Array(connections.values)
    }
    for connection in connections {
      connection.channel.eventLoop.execute {
        connection.channel.connectionGuard?.discardContent(of: self, isBeingWritten: connection.openCount > 0)
      }
    }
  }

  /// Number of connections that are known, for tests.
  var connectionCount: Int { self.connections.withLock { $0.count } }

  /// - Parameter isOpen: Whether ``end(on:)`` follows.
  /// - Returns: Whether the response may be written.
  fileprivate func begin(_ transfer: Transfer, on channel: any Channel, isOpen: Bool) -> Bool {
    let id = ObjectIdentifier(channel)
    let (isCurrent, isNew) = self.connections.withLock { connections -> (Bool, Bool) in
      guard transfer.generation == self.generation.load(ordering: .sequentiallyConsistent) else {
        return (false, false)
      }
      let isNew = connections[id] == nil
      if isNew { connections[id] = Connection(channel: channel) }
      if isOpen { connections[id]?.openCount += 1 }
      return (true, isNew)
    }
    if isNew {
      channel.closeFuture.whenComplete { _ in self.connections.withLock { connections in connections[id] = nil } }
    }
    return isCurrent
  }

  fileprivate func end(on channel: any Channel) {
    self.connections.withLock { $0[ObjectIdentifier(channel)]?.openCount -= 1 }
  }
}

extension DiscardableTransfers.Transfer {
  /// Registers the response, which is written from now on until ``end(on:)``.
  ///
  /// - Parameter channel: The channel of the request, which may be an HTTP/2 stream's.
  /// - Throws: Where the content was discarded meanwhile.
  func begin(on channel: any Channel) throws(DiscardableTransfers.Discarded) {
    guard self.transfers.begin(self, on: channel.connection, isOpen: true) else {
      throw DiscardableTransfers.Discarded()
    }
  }

  /// Registers the response, which is written in this turn of the event loop; ``noteWritten(by:)`` is called at its
  /// end.
  ///
  /// A connection that is reset is reset on its event loop: before or after that.
  ///
  /// - Parameter channel: The channel of an HTTP/1 connection.
  /// - Throws: Where the content was discarded meanwhile.
  func beginAtOnce(on channel: any Channel) throws(DiscardableTransfers.Discarded) {
    guard self.transfers.begin(self, on: channel, isOpen: false) else { throw DiscardableTransfers.Discarded() }
  }

  /// Records that a response that was begun by ``beginAtOnce(on:)`` was written.
  func noteWritten(by connection: ConnectionGuard) {
    connection.contentWritten(of: self.transfers)
  }

  /// Ends the transfer: the response was written, and its last bytes are on their way to the client.
  func end(on channel: any Channel) {
    let connection = channel.connection
    connection.eventLoop.execute {
      connection.connectionGuard?.contentWritten(of: self.transfers)
      self.transfers.end(on: connection)
    }
  }
}

extension Channel {
  /// The channel of the connection: the parent of an HTTP/2 stream's, whose own parent is the listener's.
  fileprivate var connection: any Channel { self.parent?.parent == nil ? self : self.parent ?? self }

  /// The first handler of a connection; nil once it is closed. Used on its event loop.
  fileprivate var connectionGuard: ConnectionGuard? {
    try? self.pipeline.syncOperations.handler(type: ConnectionGuard.self)
  }
}
