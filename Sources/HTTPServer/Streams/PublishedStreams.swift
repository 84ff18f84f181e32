internal import Streaming
internal import Synchronization

/// The published streams, in the order of publication.
final class PublishedStreams: Sendable {
  private struct State {
    var streams: [PublishedStream] = []
    var names: [String] = []
  }

  private let state = Mutex(State())

  /// All streams.
  var all: [PublishedStream] { self.state.withLock { $0.streams } }

  /// Their names, the first published first.
  var names: [String] { self.state.withLock { $0.names } }

  /// The stream of a name.
  subscript(name: String) -> PublishedStream? {
    self.state.withLock { state in state.streams.first { $0.name == name } }
  }

  /// The published form of a stream.
  subscript(stream: LiveStream) -> PublishedStream? {
    self.state.withLock { state in state.streams.first { $0.stream === stream } }
  }

  /// Adds a stream behind the others.
  func append(_ stream: PublishedStream) {
    self.state.withLock { state in
      state.streams.append(stream)
      state.names.append(stream.name)
    }
  }

  /// Takes a stream away; nil when it is not there.
  func remove(_ stream: LiveStream) -> PublishedStream? {
    self.state.withLock { state in
      guard let index = state.streams.firstIndex(where: { $0.stream === stream }) else { return nil }
      state.names.remove(at: index)
      return state.streams.remove(at: index)
    }
  }
}
