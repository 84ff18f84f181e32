internal import Streaming
internal import Synchronization

/// The served streams in the order in which serving began, and recently ended ones, whose playlists and segments stay available to
/// HLS viewers.
package final class ServedStreams: Sendable {
  private struct State {
    var streams: [ServedStream] = []
    /// Ended streams, available over HLS only.
    var ended: [ServedStream] = []
    /// Names of `streams` and `ended`.
    var names: [String] = []
    /// Paths of the renditions of these streams.
    var renditions: [String] = []
    /// Changes of the streams' renditions that `renditions` contains.
    var renditionChanges = 0
    /// Number of changes of `names` and `renditions`.
    var version = 0

    /// Number of changes of the streams' renditions.
    var currentChanges: Int {
      self.streams.reduce(0) { $0 &+ $1.stream.renditionChanges }
    }

    mutating func updateNames() {
      self.version += 1
      self.names = (self.streams + self.ended).map(\.name)
      self.renditionChanges = self.currentChanges
      self.renditions = (self.streams + self.ended).flatMap(\.stream.renditionPaths)
    }
  }

  private let state = Mutex(State())

  /// Served streams.
  package var all: [ServedStream] { self.state.withLock { $0.streams } }

  /// Recently ended streams.
  var ended: [ServedStream] { self.state.withLock { $0.ended } }

  /// Names of served and recently ended streams, in the order in which serving began.
  package var names: [String] { self.state.withLock { $0.names } }

  /// Paths of renditions, `NAME/RENDITION`, and of the main ones, `NAME/main`, of served and recently ended streams.
  package var renditions: [String] {
    self.state.withLock { state in
      if state.currentChanges != state.renditionChanges { state.updateNames() }
      return state.renditions
    }
  }

  /// Number of changes of ``names`` and ``renditions``, and of the streams that have them.
  var version: Int {
    self.state.withLock { state in
      if state.currentChanges != state.renditionChanges { state.updateNames() }
      return state.version
    }
  }

  /// The served or recently ended stream with a rendition of a path.
  ///
  /// - Returns: Nil where there is none.
  func stream(withRendition path: String) -> (stream: ServedStream, rendition: Rendition)? {
    let streams = self.state.withLock { $0.streams + $0.ended }
    for served in streams where path.hasPrefix("\(served.name)/") {
      let name = path.dropFirst(served.name.count + 1)
      if let rendition = served.stream.rendition(named: name) { return (served, rendition) }
    }
    return nil
  }

  /// The served stream with a name.
  package subscript(name: String) -> ServedStream? {
    self.state.withLock { state in state.streams.first { $0.name == name } }
  }

  /// The served or recently ended stream with a name.
  subscript(hls name: String) -> ServedStream? {
    self.state.withLock { state in
      state.streams.first { $0.name == name } ?? state.ended.first { $0.name == name }
    }
  }

  /// The entry of a stream.
  subscript(stream: LiveStream) -> ServedStream? {
    self.state.withLock { state in state.streams.first { $0.stream === stream } }
  }

  /// Appends a stream; a recently ended one of the same name is removed.
  func append(_ stream: ServedStream) {
    self.state.withLock { state in
      state.streams.append(stream)
      state.ended.removeAll { $0.name == stream.name }
      state.updateNames()
    }
  }

  /// Moves a stream to the ended ones; nil when it is not served.
  func end(_ stream: LiveStream) -> ServedStream? {
    self.state.withLock { state in
      guard let index = state.streams.firstIndex(where: { $0.stream === stream }) else { return nil }
      let ended = state.streams.remove(at: index)
      state.ended.append(ended)
      state.updateNames()
      return ended
    }
  }

  /// Removes an ended stream; no effect when it is not there.
  func remove(_ stream: ServedStream) {
    self.state.withLock { state in
      state.ended.removeAll { $0 === stream }
      state.updateNames()
    }
  }
}
