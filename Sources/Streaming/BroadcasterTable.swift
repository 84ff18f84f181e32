package import Media
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
  /// Makes the broadcaster of a rendition from the descriptions of its tracks.
  package typealias Make = @Sendable (LiveStream, StreamRendition, [CodecDescription]) -> Broadcaster

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

  /// Removes the broadcaster of a rendition that has ended, or a stream by that of its main one.
  package func remove(_ broadcaster: Broadcaster) {
    if broadcaster.rendition == nil { return self.unpublish(broadcaster.stream) }
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

  /// The stream and rendition that a path names, over every protocol: `NAME` and `NAME/main` the main rendition of a stream,
  /// `NAME/RENDITION` another one; the empty path, `main` and `RENDITION` those of the first stream. A stream's name wins over a
  /// rendition's.
  ///
  /// - Returns: No rendition for the main one; nil where the path names nothing.
  package func target(ofPath path: String) -> (stream: LiveStream, rendition: StreamRendition?)? {
    let streams = self.streams
    guard let first = streams.first else { return nil }
    if path.isEmpty { return (first, nil) }
    if let stream = streams.first(where: { $0.name == path }) { return (stream, nil) }
    for stream in streams where path.hasPrefix("\(stream.name)/") {
      if let target = self.target(ofName: path.dropFirst(stream.name.count + 1), in: stream) { return target }
    }
    return self.target(ofName: path[...], in: first)
  }

  private func target(
    ofName name: Substring, in stream: LiveStream
  ) -> (stream: LiveStream, rendition: StreamRendition?)? {
    if name == "main" { return (stream, nil) }
    return stream.rendition(named: name).map { (stream, $0) }
  }

  /// The broadcaster of what a path names, see ``target(ofPath:)``; nil where there is none, or not yet.
  package func broadcaster(atPath path: String) -> Broadcaster? {
    guard let (stream, rendition) = self.target(ofPath: path) else { return nil }
    return rendition.map { self.broadcaster(of: $0) } ?? self.broadcaster(of: stream)
  }

  /// Finds the broadcaster of what a path names, after the encoder of its rendition was opened if need be.
  ///
  /// - Parameters:
  ///   - make: Makes the broadcaster of a rendition from the descriptions of its tracks.
  ///   - completion: Called on any thread, or at once; with nil where the path names nothing, or the encoder cannot be opened.
  package func find(
    _ path: String, making make: @escaping Make, _ completion: @escaping @Sendable (Broadcaster?) -> Void
  ) {
    guard let (stream, rendition) = self.target(ofPath: path) else { return completion(nil) }
    guard let rendition else { return completion(self.broadcaster(of: stream)) }
    self.find(rendition, of: stream, making: make, completion)
  }

  /// Finds the broadcaster of a rendition, as ``find(_:making:_:)`` does.
  package func find(
    _ rendition: StreamRendition, of stream: LiveStream, making make: @escaping Make,
    _ completion: @escaping @Sendable (Broadcaster?) -> Void
  ) {
    if let present = self.broadcaster(of: rendition) { return completion(present) }
    guard rendition.failure == nil else { return completion(nil) }
    rendition.prepare { [weak self] result in
      guard let self, case .success(let video) = result else { return completion(nil) }
      let descriptions = [video] + stream.descriptions.filter { $0.kind == .audio }
      completion(self.add(make(stream, rendition, descriptions), of: rendition))
    }
  }

  /// Adds the broadcaster of a rendition whose parameter sets are known, unless the rendition has one.
  ///
  /// - Returns: The rendition's broadcaster; nil when its stream is no longer published.
  private func add(_ broadcaster: Broadcaster, of rendition: StreamRendition) -> Broadcaster? {
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
