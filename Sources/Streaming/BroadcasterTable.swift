internal import Synchronization

/// A server's output of a stream's main rendition, or of another one.
package protocol StreamBroadcaster: StreamOutput {
  /// The stream whose samples are output.
  var stream: LiveStream { get }
  /// The rendition whose samples are output; nil for the main one.
  var rendition: StreamRendition? { get }
}

/// The published streams of a server, in the order of their publication, and those of their renditions that have had a viewer.
package final class BroadcasterTable<Broadcaster: StreamBroadcaster>: Sendable {
  private let broadcasters = Mutex<[Broadcaster]>([])

  /// Creates a table without streams.
  package init() {}

  /// The broadcasters of all streams and renditions.
  package var all: [Broadcaster] { self.broadcasters.withLock { $0 } }

  /// The published streams.
  package var streams: [LiveStream] { self.all.filter { $0.rendition == nil }.map(\.stream) }

  /// Adds a stream by the broadcaster of its main rendition.
  package func publish(_ broadcaster: Broadcaster) {
    self.broadcasters.withLock { $0.append(broadcaster) }
    broadcaster.stream.add(broadcaster)
  }

  /// Removes a stream with its renditions; its viewers stay connected until it ends.
  package func unpublish(_ stream: LiveStream) {
    self.broadcasters.withLock { $0.removeAll { $0.stream === stream } }
  }

  /// Removes the broadcaster of a stream or rendition that has ended.
  package func remove(_ broadcaster: Broadcaster) {
    self.broadcasters.withLock { $0.removeAll { $0 === broadcaster } }
  }

  /// The broadcaster of a stream's main rendition; nil for a stream that is not published.
  package func broadcaster(of stream: LiveStream) -> Broadcaster? {
    self.all.first { $0.stream === stream && $0.rendition == nil }
  }

  /// The broadcaster of a rendition; nil before its first viewer.
  package func broadcaster(of rendition: StreamRendition) -> Broadcaster? {
    self.all.first { $0.rendition === rendition }
  }

  /// The stream of a name; nil when none is published.
  package func stream(named name: String) -> LiveStream? {
    self.streams.first { $0.name == name }
  }

  /// The rendition of a path `NAME/RENDITION`, beside the main one; nil where there is none.
  package func rendition(atPath path: String) -> (stream: LiveStream, rendition: StreamRendition)? {
    for stream in self.streams where path.hasPrefix("\(stream.name)/") {
      if let rendition = stream.rendition(named: path.dropFirst(stream.name.count + 1)) { return (stream, rendition) }
    }
    return nil
  }

  /// Adds the broadcaster of a rendition whose parameter sets are known, unless the rendition has one.
  ///
  /// - Returns: The rendition's broadcaster; nil when its stream is no longer published.
  package func add(_ broadcaster: Broadcaster, of rendition: StreamRendition) -> Broadcaster? {
    let (present, isAdded) = self.broadcasters.withLock { all -> (Broadcaster?, Bool) in
      if let present = all.first(where: { $0.rendition === rendition }) { return (present, false) }
      guard all.contains(where: { $0.stream === broadcaster.stream }) else { return (nil, false) }
      all.append(broadcaster)
      return (broadcaster, true)
    }
    if isAdded { rendition.add(broadcaster) }
    return present
  }
}
