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
    let broadcaster = RTPBroadcaster(stream: stream, eventLoops: self.eventLoops) { [weak self] in self?.sockets }
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

  func broadcaster(named name: String) -> RTPBroadcaster? {
    self.state.withLock { state in state.entries.first { $0.description.name == name }?.broadcaster }
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

  /// Closes every connection.
  func closeConnections() async {
    for connection in self.state.withLock({ Array($0.connections.values) }) {
      // One that is closed already is what is wanted.
      try? await connection.close()
    }
  }
}

extension RTSPStreamDescription {
  /// What RTSP says of a stream that has started.
  fileprivate init(_ stream: LiveStream, sequences: PerTrack<RTPSequence>) {
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
