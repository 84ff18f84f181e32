internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Streaming
internal import Synchronization

/// The published streams, and the connections that look at them; shared by all event loops.
final class StreamDirectory: RTSPStreamDirectory, Sendable {
  private struct Entry {
    var broadcaster: RTPBroadcaster
    var description: RTSPStreamDescription
  }

  private struct State {
    /// In the order of publication: the first one is also found without a name.
    var entries: [Entry] = []
    var connections: [ObjectIdentifier: any Channel] = [:]
    var sockets: DatagramSockets?
  }

  let malformedRequests = Atomic(0)
  private let eventLoops: [any EventLoop]
  private let state = Mutex(State())

  init(eventLoops: [any EventLoop]) {
    self.eventLoops = eventLoops
  }

  /// The UDP sockets, where UDP is offered and the server listens.
  var sockets: DatagramSockets? {
    get { self.state.withLock { $0.sockets } }
    set { self.state.withLock { $0.sockets = newValue } }
  }

  func publish(_ stream: LiveStream) {
    let broadcaster = RTPBroadcaster(
      stream: stream, eventLoops: self.eventLoops, sockets: { [weak self] in self?.sockets },
      onChange: { [weak self] in self?.describe($0) },
      onEnd: { [weak self] in self?.streamEnded($0, name: $0.name) })
    let description = RTSPStreamDescription(stream, sequences: broadcaster.sequences)
    self.state.withLock { state in
      state.entries.append(
        Entry(broadcaster: broadcaster, description: description))
    }
    stream.add(broadcaster)
  }

  func unpublish(_ stream: LiveStream) {
    self.state.withLock { $0.entries.removeAll { $0.broadcaster.stream === stream } }
  }

  func broadcaster(of stream: LiveStream) -> RTPBroadcaster? {
    self.state.withLock { state in state.entries.first { $0.broadcaster.stream === stream }?.broadcaster }
  }

  /// The broadcaster of a stream as it was described; nil when that one is not published any more. The parameter sets in
  /// the description may be others by now.
  func broadcaster(of description: RTSPStreamDescription) -> RTPBroadcaster? {
    self.state.withLock { state in
      state.entries.first { $0.description.name == description.name && $0.description.tracks == description.tracks }?
        .broadcaster
    }
  }

  /// Who asks for a stream from now on gets its present parameter sets.
  private func describe(_ stream: LiveStream) {
    guard let broadcaster = self.broadcaster(of: stream) else { return }
    let description = RTSPStreamDescription(stream, sequences: broadcaster.sequences)
    self.state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.broadcaster === broadcaster }) else { return }
      state.entries[index].description = description
    }
  }

  /// A stream has ended: it is not found any more, and every connection that has set it up is told.
  private func streamEnded(_ stream: LiveStream, name: String) {
    self.unpublish(stream)
    for connection in self.state.withLock({ Array($0.connections.values) }) {
      connection.eventLoop.execute {
        connection.pipeline.fireUserInboundEventTriggered(StreamEnded(name: name))
      }
    }
  }

  func stream(forPath path: String) -> RTSPStreamDescription? {
    self.state.withLock { state in
      path.isEmpty
        ? state.entries.first?.description
        : state.entries.first { $0.description.name == path }?.description
    }
  }

  /// Sends every viewer of every stream the present sender reports.
  func sendReports() {
    for entry in self.state.withLock({ $0.entries }) { entry.broadcaster.sendReports() }
  }

  func add(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
  }

  func remove(_ connection: any Channel) {
    self.state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
  }

  /// The connections that are open.
  var connectionCount: Int {
    self.state.withLock { $0.connections.count }
  }

  /// Closes every connection, all at once.
  func closeConnections() async {
    let closings = self.state.withLock { $0.connections.values.map { $0.close() } }
    for closing in closings {
      // One that is closed already is what is wanted.
      try? await closing.get()
    }
  }
}

/// Fired at every connection when a stream is over.
struct StreamEnded {
  var name: String
}

extension RTSPStreamDescription {
  /// What RTSP says of a stream that has started.
  fileprivate init(_ stream: LiveStream, sequences: PerTrack<RTPSenderState>) {
    var media: [MediaDescription] = []
    var tracks: [Track] = []
    for description in stream.descriptions {
      guard let sequence = sequences[description.kind] else { continue }
      let control = "trackID=\(tracks.count)"
      let bitrate = description.kind == .video ? stream.videoBitrate : stream.audioSettings.bitrate
      media.append(
        MediaDescription(description, payloadType: sequence.payloadType, control: control, bitrate: bitrate))
      tracks.append(Track(kind: description.kind, control: control, ssrc: sequence.ssrc))
    }
    let session = SessionDescription(
      live: stream.name, sessionID: .random(in: 1...UInt64(Int64.max)), address: "0.0.0.0", media: media)
    var text = ByteBuffer()
    session.serialize(into: &text)
    self.init(name: stream.name, sessionDescription: String(buffer: text), tracks: tracks)
  }
}
