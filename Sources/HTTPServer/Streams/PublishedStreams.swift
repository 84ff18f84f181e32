internal import Streaming
internal import Synchronization

/// The published streams, in the order of publication, and those that were until a moment ago: viewers of HLS learn from
/// the playlist that nothing follows, and fetch what is left.
final class PublishedStreams: Sendable {
  private struct State {
    var streams: [PublishedStream] = []
    /// Those that ended, and are there for HLS alone.
    var ended: [PublishedStream] = []
    /// Of both.
    var names: [String] = []

    mutating func updateNames() { self.names = (self.streams + self.ended).map(\.name) }
  }

  private let state = Mutex(State())

  /// All streams.
  var all: [PublishedStream] { self.state.withLock { $0.streams } }

  /// Those that ended a moment ago.
  var ended: [PublishedStream] { self.state.withLock { $0.ended } }

  /// The names of all that is there, the first published first.
  var names: [String] { self.state.withLock { $0.names } }

  /// The stream of a name.
  subscript(name: String) -> PublishedStream? {
    self.state.withLock { state in state.streams.first { $0.name == name } }
  }

  /// The stream of a name, or the one that had it until a moment ago.
  subscript(hls name: String) -> PublishedStream? {
    self.state.withLock { state in (state.streams + state.ended).first { $0.name == name } }
  }

  /// The published form of a stream.
  subscript(stream: LiveStream) -> PublishedStream? {
    self.state.withLock { state in state.streams.first { $0.stream === stream } }
  }

  /// Adds a stream behind the others.
  func append(_ stream: PublishedStream) {
    self.state.withLock { state in
      state.streams.append(stream)
      state.ended.removeAll { $0.name == stream.name }
      state.updateNames()
    }
  }

  /// Leaves a stream to those who watch it over HLS; nil when it is not there.
  func end(_ stream: LiveStream) -> PublishedStream? {
    self.state.withLock { state in
      guard let index = state.streams.firstIndex(where: { $0.stream === stream }) else { return nil }
      let ended = state.streams.remove(at: index)
      state.ended.append(ended)
      state.updateNames()
      return ended
    }
  }

  /// Takes a stream that ended away; without effect when it is not there.
  func remove(_ stream: PublishedStream) {
    self.state.withLock { state in
      state.ended.removeAll { $0 === stream }
      state.updateNames()
    }
  }
}
