internal import Media
internal import NIOCore
internal import Synchronization

/// Bounded queue of a publisher's datagrams between the sockets' event loop and that of its connection.
///
/// When it is full, datagrams are dropped, as the network would.
final class ReceivedDatagrams: Sendable {
  /// A datagram of a track.
  struct Datagram {
    /// Index of the track in the announcement.
    var track: Int
    var isRTCP: Bool
    var payload: ByteBuffer
    var arrival: MediaTime
  }

  private struct State {
    var datagrams: [Datagram] = []
    var byteCount = 0
    var droppedCount = 0
  }

  /// Maximum length of the datagrams, in bytes: a second of 32 Mb/s.
  static let maximumByteCount = 4 << 20

  private let state = Mutex(State())

  /// Number of dropped datagrams.
  var droppedCount: Int { self.state.withLock { $0.droppedCount } }

  /// Enqueues a datagram.
  ///
  /// - Returns: Whether the queue was empty, so that the reader is to be woken up.
  func append(_ datagram: Datagram) -> Bool {
    self.state.withLock { state in
      guard state.byteCount + datagram.payload.readableBytes <= Self.maximumByteCount else {
        state.droppedCount += 1
        return false
      }
      state.byteCount += datagram.payload.readableBytes
      state.datagrams.append(datagram)
      return state.datagrams.count == 1
    }
  }

  /// Dequeues all datagrams.
  func removeAll() -> [Datagram] {
    self.state.withLock { state in
      defer { (state.datagrams, state.byteCount) = ([], 0) }
      return state.datagrams
    }
  }
}
