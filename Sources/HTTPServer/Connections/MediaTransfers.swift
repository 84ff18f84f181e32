internal import NIOCore
internal import Synchronization

/// The connections that send media of one stream, which are reset when its earlier frames are discarded: what a connection holds
/// cannot be taken back in another way.
///
/// A connection is reset while such a response is being written, and as long as its client has not received all of it: the system
/// takes more of a response than a slow client reads in seconds.
final class MediaTransfers: Sendable {
  /// A response with media that was requested before ``discardEarlier()``.
  struct Discarded: Error {}

  private struct Connection {
    let channel: any Channel
    /// Number of responses that are being written.
    var openCount = 0
  }

  /// One response with media of the stream.
  struct Transfer: Sendable {
    fileprivate let transfers: MediaTransfers
    fileprivate let generation: Int
  }

  /// Number of calls of ``discardEarlier()``; changed with the lock held.
  private let generation = Atomic(0)
  private let connections = Mutex([ObjectIdentifier: Connection]())

  /// Creates a transfer; call it before the media are taken from the stream.
  func transfer() -> Transfer {
    Transfer(transfers: self, generation: self.generation.load(ordering: .sequentiallyConsistent))
  }

  /// Resets the connections on which media of transfers from before this call may still be sent. Callable from any thread, after
  /// the stream has discarded these media.
  func discardEarlier() {
    let connections = self.connections.withLock { connections in
      self.generation.add(1, ordering: .sequentiallyConsistent)
      return Array(connections.values)
    }
    for connection in connections {
      connection.channel.eventLoop.execute {
        connection.channel.connectionGuard?.discardMedia(of: self, isBeingWritten: connection.openCount > 0)
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

extension MediaTransfers.Transfer {
  /// Registers the response, which is written from now on until ``end(on:)``.
  ///
  /// - Parameter channel: The channel of the request, which may be an HTTP/2 stream's.
  /// - Throws: Where the media were discarded meanwhile.
  func begin(on channel: any Channel) throws(MediaTransfers.Discarded) {
    guard self.transfers.begin(self, on: channel.connection, isOpen: true) else { throw MediaTransfers.Discarded() }
  }

  /// Registers the response, which is written in this turn of the event loop; ``noteWritten(by:)`` is called at its
  /// end.
  ///
  /// A connection that is reset is reset on its event loop: before or after that.
  ///
  /// - Parameter channel: The channel of an HTTP/1 connection.
  /// - Throws: Where the media were discarded meanwhile.
  func beginAtOnce(on channel: any Channel) throws(MediaTransfers.Discarded) {
    guard self.transfers.begin(self, on: channel, isOpen: false) else { throw MediaTransfers.Discarded() }
  }

  /// Records that a response that was begun by ``beginAtOnce(on:)`` was written.
  func noteWritten(by connection: ConnectionGuard) {
    connection.mediaWritten(of: self.transfers)
  }

  /// Ends the transfer: the response was written, and its last bytes are on their way to the client.
  func end(on channel: any Channel) {
    let connection = channel.connection
    connection.eventLoop.execute {
      connection.connectionGuard?.mediaWritten(of: self.transfers)
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
