package import Media
internal import Synchronization

/// A server's output of one rendition of a stream.
package protocol StreamBroadcaster: StreamOutput {
  /// The rendition whose samples are output.
  var rendition: Rendition { get }
}

extension StreamBroadcaster {
  /// The stream whose samples are output.
  package var stream: LiveStream { self.rendition.stream }
}

/// The published streams of a server, in the order of their publication, and those of their renditions that have had a viewer.
package final class BroadcasterTable<Broadcaster: StreamBroadcaster>: Sendable {
  /// Makes the broadcaster of a rendition from the descriptions of its tracks.
  package typealias Make = @Sendable (Rendition, [CodecDescription]) -> Broadcaster

  private let broadcasters = Mutex<[Broadcaster]>([])

  /// Creates a table without streams.
  package init() {}

  /// The broadcasters of all streams and renditions.
  package var all: [Broadcaster] { self.broadcasters.withLock { $0 } }

  /// The published streams.
  package var streams: [LiveStream] { self.all.filter(\.rendition.isMain).map(\.stream) }

  /// Adds a stream by the broadcaster of its main rendition.
  package func publish(_ broadcaster: Broadcaster) {
    self.broadcasters.withLock { $0.append(broadcaster) }
    broadcaster.rendition.add(broadcaster)
  }

  /// Removes a stream with its renditions; its viewers stay connected until it ends.
  package func unpublish(_ stream: LiveStream) {
    self.broadcasters.withLock { $0.removeAll { $0.stream === stream } }
  }

  /// Removes the broadcaster of a rendition that has ended, or a stream by that of its main one.
  package func remove(_ broadcaster: Broadcaster) {
    if broadcaster.rendition.isMain { return self.unpublish(broadcaster.stream) }
    self.broadcasters.withLock { $0.removeAll { $0 === broadcaster } }
  }

  /// The broadcaster of a rendition; nil where its stream is not published, and before the first viewer of one that is not the main one.
  package func broadcaster(of rendition: Rendition) -> Broadcaster? {
    self.all.first { $0.rendition == rendition }
  }

  /// The stream of a name; nil when none is published.
  package func stream(named name: String) -> LiveStream? {
    self.streams.first { $0.name == name }
  }

  /// The rendition that a path names, over every protocol: `NAME` and `NAME/main` the main one of a stream, `NAME/RENDITION` another
  /// one; the empty path, `main` and `RENDITION` those of the first stream. A stream's name wins over a rendition's.
  ///
  /// - Returns: Nil where the path names nothing.
  package func rendition(atPath path: String) -> Rendition? {
    let streams = self.streams
    guard let first = streams.first else { return nil }
    if path.isEmpty { return first.main }
    if let stream = streams.first(where: { $0.name == path }) { return stream.main }
    for stream in streams where path.hasPrefix("\(stream.name)/") {
      if let rendition = stream.rendition(named: path.dropFirst(stream.name.count + 1)) { return rendition }
    }
    return first.rendition(named: path)
  }

  /// The broadcaster of what a path names, see ``rendition(atPath:)``; nil where there is none, or not yet.
  package func broadcaster(atPath path: String) -> Broadcaster? {
    self.rendition(atPath: path).flatMap { self.broadcaster(of: $0) }
  }

  /// Finds the broadcaster of what a path names, after the encoder of its rendition was opened if need be.
  ///
  /// - Parameters:
  ///   - make: Makes the broadcaster of a rendition from the descriptions of its tracks.
  ///   - completion: Called on any thread, or at once; with nil where the path names nothing, or the encoder cannot be opened.
  package func find(
    _ path: String, making make: @escaping Make, _ completion: @escaping @Sendable (Broadcaster?) -> Void
  ) {
    guard let rendition = self.rendition(atPath: path) else { return completion(nil) }
    self.find(rendition, making: make, completion)
  }

  /// Finds the broadcaster of a rendition, as ``find(_:making:_:)`` does.
  package func find(
    _ rendition: Rendition, making make: @escaping Make, _ completion: @escaping @Sendable (Broadcaster?) -> Void
  ) {
    if let present = self.broadcaster(of: rendition) { return completion(present) }
    guard !rendition.isMain, rendition.failure == nil else { return completion(nil) }
    rendition.prepare { [weak self] result in
      guard let self, case .success(let descriptions) = result else { return completion(nil) }
      completion(self.add(make(rendition, descriptions)))
    }
  }

  /// Adds the broadcaster of a rendition whose parameter sets are known, unless the rendition has one.
  ///
  /// - Returns: The rendition's broadcaster; nil when its stream is no longer published.
  private func add(_ broadcaster: Broadcaster) -> Broadcaster? {
    let (present, isAdded) = self.broadcasters.withLock { all -> (Broadcaster?, Bool) in
      if let present = all.first(where: { $0.rendition == broadcaster.rendition }) { return (present, false) }
      guard all.contains(where: { $0.stream === broadcaster.stream }) else { return (nil, false) }
      all.append(broadcaster)
      return (broadcaster, true)
    }
    if isAdded { broadcaster.rendition.add(broadcaster) }
    return present
  }
}
