internal import Media
internal import Serving
internal import Streaming
internal import Synchronization
internal import WebRTC

/// The publishers of all streams, and the endpoint of each stream that had one. Its counters are read on any thread, all else on the
/// hub's event loop.
struct WebRTCPublisherTable {
  /// Counters by stream, for other threads.
  final class Board: Sendable {
    private let entries = Mutex<[ObjectIdentifier: WebRTCPublisherStatistics]>([:])

    subscript(stream: LiveStream) -> WebRTCPublisherStatistics? {
      get { self.entries.withLock { $0[ObjectIdentifier(stream)] } }
      set { self.entries.withLock { $0[ObjectIdentifier(stream)] = newValue } }
    }
  }

  private struct Entry {
    var endpoint = WHIPEndpoint()
    /// Counters of the sessions that have ended.
    var ended = WebRTCPublisherStatistics()
    /// Whether the owner knows that the shape of a publisher's frames is not that of the stream.
    var isShapeReported = false
  }

  let board = Board()
  private var publishers: [String: WebRTCPublisher] = [:]
  private var entries: [ObjectIdentifier: Entry] = [:]

  /// The publisher of a session.
  subscript(id: String) -> WebRTCPublisher? { self.publishers[id] }

  /// All publishers, or those of a stream.
  func all(of stream: LiveStream? = nil) -> [WebRTCPublisher] {
    self.publishers.values.filter { stream == nil || $0.stream === stream }
  }

  /// Decides about the sessions of a stream.
  mutating func withEndpoint<Result, Failure: Error>(
    of stream: LiveStream, at now: MediaTime, _ body: (inout WHIPEndpoint) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { self.note(stream, at: now) }
    return try body(&self.entries[ObjectIdentifier(stream), default: Entry()].endpoint)
  }

  /// Adds the publisher of an opened session.
  mutating func add(_ publisher: WebRTCPublisher) { self.publishers[publisher.id] = publisher }

  /// Removes a publisher whose session has ended, and keeps its counters.
  mutating func remove(_ publisher: WebRTCPublisher, at now: MediaTime) {
    guard self.publishers.removeValue(forKey: publisher.id) != nil else { return }
    let id = ObjectIdentifier(publisher.stream)
    guard var entry = self.entries[id] else { return }
    entry.endpoint.close(publisher.id)
    publisher.add(to: &entry.ended)
    self.entries[id] = entry
    self.note(publisher.stream, at: now)
  }

  /// Forgets a stream that has ended.
  mutating func remove(_ stream: LiveStream) {
    self.entries[ObjectIdentifier(stream)] = nil
    self.board[stream] = nil
  }

  /// Whether the owner knows that the shape of frames is not that of a stream.
  func isShapeReported(of stream: LiveStream) -> Bool {
    self.entries[ObjectIdentifier(stream)]?.isShapeReported ?? true
  }

  /// Records that the owner knows that the shape of frames is not that of a stream.
  mutating func noteShapeReport(of stream: LiveStream) {
    self.entries[ObjectIdentifier(stream)]?.isShapeReported = true
  }

  /// Records media of a publisher.
  mutating func handleMedia(of publisher: WebRTCPublisher, at now: MediaTime) {
    self.entries[ObjectIdentifier(publisher.stream)]?.endpoint.handleMedia(of: publisher.id, at: now)
  }

  /// Stores the counters of a stream for other threads.
  func note(_ stream: LiveStream, at now: MediaTime) {
    guard let entry = self.entries[ObjectIdentifier(stream)] else { return }
    var statistics = entry.ended
    let counters = entry.endpoint.counters
    statistics.isLive = entry.endpoint.isLive(at: now)
    statistics.sessionsOpened = counters.opened
    statistics.sessionsReplaced = counters.replaced
    statistics.sessionsTakenOver = counters.takenOver
    statistics.attemptsRefused = counters.refused
    for publisher in self.all(of: stream) { publisher.add(to: &statistics) }
    if let publisher = entry.endpoint.session.flatMap({ self.publishers[$0] }) {
      statistics.videoCodec = publisher.videoCodec?.rawValue
      statistics.audioCodec = publisher.audioCodec?.rawValue
      statistics.roundTrip = publisher.session.statistics.roundTrip
    }
    self.board[stream] = statistics
  }
}
