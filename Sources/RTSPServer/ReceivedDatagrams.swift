internal import Media
internal import NIOCore
internal import Synchronization

/// Bounded queue of a client's datagrams between the sockets' event loop and that of its connection, which is woken up once for
/// all that have arrived meanwhile.
///
/// When it is full, datagrams are dropped, as the network would.
final class ReceivedDatagrams: Sendable {
  /// A datagram of a track.
  struct Datagram {
    /// Index of the track in the announcement; 0 of a viewer.
    var track = 0
    var isRTCP = true
    var payload: ByteBuffer
    var arrival: MediaTime
  }

  private struct State {
    var datagrams: [Datagram] = []
    var byteCount = 0
    var droppedCount = 0
  }

  /// Maximum length of a publisher's datagrams, in bytes: a second of 32 Mb/s.
  static let maximumByteCountOfPublisher = 4 << 20
  /// Maximum length of a viewer's datagrams, in bytes: some hundred reports.
  static let maximumByteCountOfViewer = 16 << 10

  /// Memory that a datagram takes however short it is, in bytes.
  private static let minimumByteCount = 64

  private let maximumByteCount: Int
  private let state = Mutex(State())

  init(maximumByteCount: Int) { self.maximumByteCount = maximumByteCount }

  /// Enqueues a datagram.
  ///
  /// - Returns: Whether the queue was empty, so that the reader is to be woken up.
  func append(_ datagram: Datagram) -> Bool {
    self.state.withLock { state in
      let byteCount = max(Self.minimumByteCount, datagram.payload.readableBytes)
      guard state.byteCount + byteCount <= self.maximumByteCount else {
        state.droppedCount += 1
        return false
      }
      state.byteCount += byteCount
      state.datagrams.append(datagram)
      return state.datagrams.count == 1
    }
  }

  /// Dequeues all datagrams.
  ///
  /// - Returns: The datagrams, and the number of those that were dropped since the last call.
  func removeAll() -> (datagrams: [Datagram], droppedCount: Int) {
    self.state.withLock { state in
      defer { state = State() }
      return (state.datagrams, state.droppedCount)
    }
  }
}
