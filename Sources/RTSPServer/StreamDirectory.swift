internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Streaming
internal import Synchronization

/// The published streams and the open connections; shared by all event loops.
final class StreamDirectory: RTSPStreamDirectory, Sendable {
  private struct State {
    var connections: [ObjectIdentifier: any Channel] = [:]
    var sockets: DatagramSockets?
  }

  let malformedRequests = Atomic(0)
  /// Refusals of all servers.
  let refusals: RefusalCounters
  private let eventLoops: [any EventLoop]
  /// The first stream is also found by the empty path.
  private let table = BroadcasterTable<RTPBroadcaster>()
  private let state = Mutex(State())

  init(eventLoops: [any EventLoop], refusals: RefusalCounters = RefusalCounters()) {
    self.refusals = refusals
    self.eventLoops = eventLoops
  }

  /// Interval between two sender reports of a track; RFC 3550 §6.2 recommends at least 5 s.
  private static let reportInterval = TimeAmount.seconds(5)

  /// The UDP sockets; nil without UDP, or before the server listens.
  var sockets: DatagramSockets? {
    get { self.state.withLock { $0.sockets } }
    set { self.state.withLock { $0.sockets = newValue } }
  }

  /// Adds a running stream; its tracks are those of its descriptions now.
  func publish(_ stream: LiveStream) {
    self.publish(stream, descriptions: stream.descriptions)
  }

  /// Adds a stream with these tracks.
  func publish(_ stream: LiveStream, descriptions: [CodecDescription]) {
    self.table.publish(self.makeBroadcaster(of: stream.main, descriptions: descriptions))
  }

  private func makeBroadcaster(of rendition: Rendition, descriptions: [CodecDescription]) -> RTPBroadcaster {
    RTPBroadcaster(
      rendition, descriptions: descriptions, eventLoops: self.eventLoops, sockets: { [weak self] in self?.sockets },
      refusals: self.refusals, onEnd: { [weak self] in self?.broadcasterEnded($0) })
  }

  /// Removes a stream; its viewers stay connected until it ends.
  func unpublish(_ stream: LiveStream) {
    self.table.unpublish(stream)
  }

  /// A published stream by its name; nil for a rendition's.
  func liveStream(named name: String) -> LiveStream? { self.table.stream(named: name) }

  /// The broadcaster of a rendition; nil where its stream is not published, and before the first viewer of one that is not the main
  /// one.
  func broadcaster(of rendition: Rendition) -> RTPBroadcaster? { self.table.broadcaster(of: rendition) }

  /// The broadcaster of the stream of a description; nil when the stream is no longer published. Parameter sets may
  /// have changed since the description was sent.
  func broadcaster(of description: RTSPStreamDescription) -> RTPBroadcaster? {
    self.table.all.first { $0.name == description.name && $0.description.tracks == description.tracks }
  }

  /// Removes a stream or rendition that has ended, and notifies every connection.
  private func broadcasterEnded(_ broadcaster: RTPBroadcaster) {
    self.table.remove(broadcaster)
    let name = broadcaster.name
    for connection in self.state.withLock({ Array($0.connections.values) }) {
      connection.eventLoop.execute {
        connection.pipeline.fireUserInboundEventTriggered(StreamEnded(name: name))
      }
    }
  }

  func stream(forPath path: String) -> RTSPStreamDescription? {
    self.table.broadcaster(atPath: path)?.description
  }

  /// Whether a path names a rendition that had no viewer yet.
  func needsPreparation(ofPath path: String) -> Bool {
    self.table.rendition(atPath: path).map { !$0.isMain && $0.failure == nil } ?? false
  }

  /// Opens the encoder of the rendition that a path names, so that its session description is known.
  ///
  /// - Parameter completion: Called on any thread, or at once, also when it fails.
  func prepareStream(atPath path: String, _ completion: @escaping @Sendable () -> Void) {
    self.table.find(
      path, making: { self.makeBroadcaster(of: $0, descriptions: $1) }, { _ in completion() })
  }

  /// Sends sender reports to the viewers of every stream, every 5 s, until the task is cancelled.
  func scheduleReports(on eventLoop: any EventLoop) -> RepeatedTask {
    eventLoop.scheduleRepeatedTask(initialDelay: Self.reportInterval, delay: Self.reportInterval) { _ in
      self.sendReports()
    }
  }

  /// Sends current sender reports to the viewers of every stream.
  func sendReports() {
    for broadcaster in self.table.all { broadcaster.sendReports() }
  }

  func add(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
  }

  func remove(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
  }

  /// Counts a malformed message, or a packet on an unknown channel.
  func countMalformed() {
    self.malformedRequests.add(1, ordering: .relaxed)
    self.refusals.count(.malformed)
  }

  /// Number of open connections.
  var connectionCount: Int {
    self.state.withLock { $0.connections.count }
  }

  /// Closes all connections concurrently.
  func closeConnections() async {
    let closings = self.state.withLock { $0.connections.values.map { $0.close() } }
    for closing in closings {
      // An error means that the connection is closed already.
      try? await closing.get()
    }
  }
}

/// User event fired on every connection when a stream has ended.
struct StreamEnded {
  var name: String
}

extension RTSPStreamDescription {
  /// The description of a stream as its broadcaster sends it.
  init(of broadcaster: RTPBroadcaster) {
    let stream = broadcaster.stream
    let states = broadcaster.senderStates
    var media: [MediaDescription] = []
    var tracks: [Track] = []
    for description in broadcaster.descriptions {
      guard let state = states[description.kind] else { continue }
      let control = "trackID=\(tracks.count)"
      let bitrate = description.kind == .video ? broadcaster.rendition.bitrate : stream.audioSettings.bitrate
      media.append(
        MediaDescription(description, payloadType: state.payloadType, control: control, bitrate: bitrate))
      tracks.append(Track(kind: description.kind, control: control, ssrc: state.ssrc))
    }
    let session = SessionDescription(
      live: broadcaster.name, sessionID: .random(in: 1...UInt64(Int64.max)), address: "0.0.0.0", media: media)
    var text = ByteBuffer()
    session.serialize(into: &text)
    self.init(name: broadcaster.name, sessionDescription: String(buffer: text), tracks: tracks)
  }
}
