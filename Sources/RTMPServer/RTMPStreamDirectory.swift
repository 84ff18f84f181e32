internal import Authentication
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// The published streams and the open connections; shared by all event loops.
final class RTMPStreamDirectory: Sendable {
  private struct State {
    /// In the order of publication; the first stream is also found by the empty path.
    var broadcasters: [RTMPBroadcaster] = []
    var connections: [ObjectIdentifier: any Channel] = [:]
  }

  /// Refusals of all servers.
  let refusals: RefusalCounters
  private let eventLoops: [any EventLoop]
  private let state = Mutex(State())

  init(eventLoops: [any EventLoop], refusals: RefusalCounters = RefusalCounters()) {
    self.refusals = refusals
    self.eventLoops = eventLoops
  }

  /// Adds a running stream; its tracks are those of its descriptions now.
  func publish(_ stream: LiveStream) {
    self.publish(stream, descriptions: stream.descriptions)
  }

  /// Adds a stream with these tracks.
  func publish(_ stream: LiveStream, descriptions: [CodecDescription]) {
    let broadcaster = self.makeBroadcaster(of: stream, descriptions: descriptions)
    self.state.withLock { $0.broadcasters.append(broadcaster) }
    stream.add(broadcaster)
  }

  private func makeBroadcaster(
    of stream: LiveStream, rendition: StreamRendition? = nil, descriptions: [CodecDescription]
  ) -> RTMPBroadcaster {
    RTMPBroadcaster(
      stream: stream, rendition: rendition, descriptions: descriptions, eventLoops: self.eventLoops,
      refusals: self.refusals
    ) { [weak self] ended in
      self?.state.withLock { $0.broadcasters.removeAll { $0 === ended } }
    }
  }

  /// Removes a stream; its viewers stay connected until it ends.
  func unpublish(_ stream: LiveStream) {
    self.state.withLock { $0.broadcasters.removeAll { $0.stream === stream } }
  }

  func broadcaster(of stream: LiveStream) -> RTMPBroadcaster? {
    self.state.withLock { state in
      state.broadcasters.first { $0.stream === stream && $0.rendition == nil }
    }
  }

  /// The broadcaster of a rendition; nil before its first viewer.
  func broadcaster(of rendition: StreamRendition) -> RTMPBroadcaster? {
    self.state.withLock { state in state.broadcasters.first { $0.rendition === rendition } }
  }

  /// A published stream by its name; the first one by an empty name.
  func stream(named name: String) -> LiveStream? {
    self.state.withLock { state in
      state.broadcasters.first { $0.rendition == nil && (name.isEmpty || $0.stream.name == name) }?.stream
    }
  }

  /// Finds the stream or rendition of the first path that names one, after its encoder was opened if need be.
  ///
  /// - Parameter completion: Called on any thread, or at once.
  func find(paths: [String], _ completion: @escaping @Sendable (RTMPBroadcaster?) -> Void) {
    for path in paths {
      if let broadcaster = self.broadcaster(forPath: path) { return completion(broadcaster) }
      if let (stream, rendition) = self.rendition(forPath: path), rendition.failure == nil {
        rendition.prepare { [weak self] result in
          guard let self, case .success(let video) = result else { return completion(nil) }
          completion(self.add(rendition, of: stream, video: video))
        }
        return
      }
    }
    completion(nil)
  }

  private func broadcaster(forPath path: String) -> RTMPBroadcaster? {
    self.state.withLock { state in
      if path.isEmpty { return state.broadcasters.first }
      return state.broadcasters.first { $0.name == path }
    }
  }

  /// The rendition of a path `NAME/RENDITION`.
  private func rendition(forPath path: String) -> (stream: LiveStream, rendition: StreamRendition)? {
    for stream in self.state.withLock({ $0.broadcasters.filter { $0.rendition == nil }.map(\.stream) })
    where path.hasPrefix("\(stream.name)/") {
      let name = path.dropFirst(stream.name.utf8.count + 1)
      if let rendition = stream.rendition(named: name) { return (stream, rendition) }
    }
    return nil
  }

  /// Adds a rendition whose parameter sets are known, unless it is there.
  ///
  /// - Returns: Its broadcaster; nil when the stream is no longer published.
  private func add(_ rendition: StreamRendition, of stream: LiveStream, video: CodecDescription) -> RTMPBroadcaster? {
    let broadcaster = self.makeBroadcaster(
      of: stream, rendition: rendition, descriptions: [video] + stream.descriptions.filter { $0.kind == .audio })
    let (present, isAdded) = self.state.withLock { state -> (RTMPBroadcaster?, Bool) in
      if let present = state.broadcasters.first(where: { $0.rendition === rendition }) { return (present, false) }
      guard state.broadcasters.contains(where: { $0.stream === stream }) else { return (nil, false) }
      state.broadcasters.append(broadcaster)
      return (broadcaster, true)
    }
    if isAdded { rendition.add(broadcaster) }
    return present
  }

  func add(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
  }

  func remove(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
  }

  /// Notifies every client that the server stops, and closes its connection.
  func closeConnections() async {
    let connections = self.state.withLock { Array($0.connections.values) }
    for connection in connections {
      connection.eventLoop.execute { connection.pipeline.fireUserInboundEventTriggered(ServerStops()) }
    }
    for connection in connections {
      // An error means that the connection is closed already.
      try? await connection.closeFuture.get()
    }
  }
}

/// User event fired on every connection when the server stops.
struct ServerStops {}
