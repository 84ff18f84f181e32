internal import Authentication
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// The published streams and the open connections; shared by all event loops.
final class RTMPStreamDirectory: Sendable {
  /// Refusals of all servers.
  let refusals: RefusalCounters
  private let eventLoops: [any EventLoop]
  /// The first stream is also found by the empty path.
  private let table = BroadcasterTable<RTMPBroadcaster>()
  private let connections = Mutex<[ObjectIdentifier: any Channel]>([:])

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
    self.table.publish(self.makeBroadcaster(of: stream.main, descriptions: descriptions))
  }

  private func makeBroadcaster(of rendition: Rendition, descriptions: [CodecDescription]) -> RTMPBroadcaster {
    RTMPBroadcaster(
      rendition, descriptions: descriptions, eventLoops: self.eventLoops, refusals: self.refusals
    ) { [weak table = self.table] in table?.remove($0) }
  }

  /// Removes a stream; its viewers stay connected until it ends.
  func unpublish(_ stream: LiveStream) {
    self.table.unpublish(stream)
  }

  /// The broadcaster of a rendition; nil where its stream is not published, and before the first viewer of one that is not the main
  /// one.
  func broadcaster(of rendition: Rendition) -> RTMPBroadcaster? { self.table.broadcaster(of: rendition) }

  /// A published stream by its name; the first one by an empty name.
  func stream(named name: String) -> LiveStream? {
    name.isEmpty ? self.table.streams.first : self.table.stream(named: name)
  }

  /// Finds the stream or rendition of the first path that names one, after its encoder was opened if need be.
  ///
  /// - Parameter completion: Called on any thread, or at once.
  func find(paths: [String], _ completion: @escaping @Sendable (RTMPBroadcaster?) -> Void) {
    guard let path = paths.first(where: { self.table.rendition(atPath: $0) != nil }) else { return completion(nil) }
    self.table.find(path, making: { self.makeBroadcaster(of: $0, descriptions: $1) }, completion)
  }

  func add(_ connection: any Channel) {
    self.connections.withLock { $0[ObjectIdentifier(connection)] = connection }
  }

  func remove(_ connection: any Channel) {
    self.connections.withLock { $0[ObjectIdentifier(connection)] = nil }
  }

  /// Notifies every client that the server stops, and closes its connection.
  func closeConnections() async {
    let connections = self.connections.withLock { Array($0.values) }
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
