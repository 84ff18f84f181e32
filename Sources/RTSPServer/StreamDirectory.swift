internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Streaming
internal import Synchronization

/// The published streams and the open connections; shared by all event loops.
final class StreamDirectory: RTSPStreamDirectory, Sendable {
  private struct Entry {
    var broadcaster: RTPBroadcaster
    var description: RTSPStreamDescription
  }

  private struct State {
    /// In the order of publication; the first stream is also found by the empty path.
    var entries: [Entry] = []
    var connections: [ObjectIdentifier: any Channel] = [:]
    var sockets: DatagramSockets?
  }

  let malformedRequests = Atomic(0)
  /// Refusals of all servers.
  let refusals: RefusalCounters
  private let eventLoops: [any EventLoop]
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
    let broadcaster = self.makeBroadcaster(of: stream, descriptions: descriptions)
    let description = RTSPStreamDescription(of: broadcaster)
    self.state.withLock { state in
      state.entries.append(
        Entry(broadcaster: broadcaster, description: description))
    }
    stream.add(broadcaster)
  }

  private func makeBroadcaster(
    of stream: LiveStream, rendition: StreamRendition? = nil, descriptions: [CodecDescription]
  ) -> RTPBroadcaster {
    RTPBroadcaster(
      stream: stream, rendition: rendition, descriptions: descriptions, eventLoops: self.eventLoops,
      sockets: { [weak self] in self?.sockets }, refusals: self.refusals,
      onDescriptionChange: { [weak self] in self?.describe($0) }, onEnd: { [weak self] in self?.broadcasterEnded($0) })
  }

  /// Removes a stream; its viewers stay connected until it ends.
  func unpublish(_ stream: LiveStream) {
    self.state.withLock { $0.entries.removeAll { $0.broadcaster.stream === stream } }
  }

  func broadcaster(of stream: LiveStream) -> RTPBroadcaster? {
    self.state.withLock { state in
      state.entries.first { $0.broadcaster.stream === stream && $0.broadcaster.rendition == nil }?.broadcaster
    }
  }

  /// A published stream by its name; nil for a rendition's.
  func liveStream(named name: String) -> LiveStream? {
    self.state.withLock { state in
      state.entries.first { $0.description.name == name && $0.broadcaster.rendition == nil }?.broadcaster.stream
    }
  }

  /// The broadcaster of a rendition; nil before its first viewer.
  func broadcaster(of rendition: StreamRendition) -> RTPBroadcaster? {
    self.state.withLock { state in state.entries.first { $0.broadcaster.rendition === rendition }?.broadcaster }
  }

  /// The broadcaster of the stream of a description; nil when the stream is no longer published. Parameter sets may
  /// have changed since the description was sent.
  func broadcaster(of description: RTSPStreamDescription) -> RTPBroadcaster? {
    self.state.withLock { state in
      state.entries.first { $0.description.name == description.name && $0.description.tracks == description.tracks }?
        .broadcaster
    }
  }

  /// Updates the session description of a stream whose parameter sets have changed.
  private func describe(_ broadcaster: RTPBroadcaster) {
    let description = RTSPStreamDescription(of: broadcaster)
    self.state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.broadcaster === broadcaster }) else { return }
      state.entries[index].description = description
    }
  }

  /// Removes a stream or rendition that has ended, and notifies every connection.
  private func broadcasterEnded(_ broadcaster: RTPBroadcaster) {
    if broadcaster.rendition == nil {
      self.unpublish(broadcaster.stream)
    } else {
      self.state.withLock { $0.entries.removeAll { $0.broadcaster === broadcaster } }
    }
    let name = broadcaster.name
    for connection in self.state.withLock({ Array($0.connections.values) }) {
      connection.eventLoop.execute {
        connection.pipeline.fireUserInboundEventTriggered(StreamEnded(name: name))
      }
    }
  }

  func stream(forPath path: String) -> RTSPStreamDescription? {
    self.state.withLock { state in
      if path.isEmpty { return state.entries.first?.description }
      if let entry = state.entries.first(where: { $0.description.name == path }) { return entry.description }
      if let name = Self.nameOfMain(path), let entry = state.entries.first(where: { $0.description.name == name }) {
        return entry.description
      }
      // A rendition of the first stream, which needs no name.
      guard let first = state.entries.first?.description.name, !path.utf8.contains(UInt8(ascii: "/")) else {
        return nil
      }
      if path == Self.main { return state.entries.first?.description }
      return state.entries.first {
        $0.broadcaster.rendition?.name == path && $0.description.name == "\(first)/\(path)"
      }?
      .description
    }
  }

  /// The name of the main rendition in paths, as over HTTP.
  private static let main = "main"

  /// The stream of the path `NAME/main`; nil for another path.
  private static func nameOfMain(_ path: String) -> String? {
    path.hasSuffix("/\(Self.main)") ? String(path.dropLast(Self.main.count + 1)) : nil
  }

  /// Whether a path names a rendition that had no viewer yet.
  func needsPreparation(ofPath path: String) -> Bool {
    self.rendition(forPath: path).map { $0.rendition.failure == nil } ?? false
  }

  /// Opens the encoder of the rendition that a path names, so that its session description is known.
  ///
  /// - Parameter completion: Called on any thread, or at once, also when it fails.
  func prepareStream(atPath path: String, _ completion: @escaping @Sendable () -> Void) {
    guard let (stream, rendition) = self.rendition(forPath: path) else { return completion() }
    rendition.prepare { [weak self] result in
      if let self, case .success(let video) = result { self.add(rendition, of: stream, video: video) }
      completion()
    }
  }

  /// The rendition of a path, `NAME/RENDITION`, or the rendition's name alone for the first stream.
  private func rendition(forPath path: String) -> (stream: LiveStream, rendition: StreamRendition)? {
    let streams = self.state.withLock { state in
      state.entries.compactMap { $0.broadcaster.rendition == nil ? $0.broadcaster.stream : nil }
    }
    for (index, stream) in streams.enumerated() {
      let name = path.hasPrefix("\(stream.name)/") ? path.dropFirst(stream.name.count + 1) : index == 0 ? path[...] : ""
      if !name.isEmpty, let rendition = stream.rendition(named: name) { return (stream, rendition) }
    }
    return nil
  }

  /// Adds a rendition whose parameter sets are known, unless it is there.
  private func add(_ rendition: StreamRendition, of stream: LiveStream, video: CodecDescription) {
    let broadcaster = self.makeBroadcaster(
      of: stream, rendition: rendition, descriptions: [video] + stream.descriptions.filter { $0.kind == .audio })
    let description = RTSPStreamDescription(of: broadcaster)
    let isAdded = self.state.withLock { state in
      guard state.entries.contains(where: { $0.broadcaster.stream === stream }),
        !state.entries.contains(where: { $0.broadcaster.rendition === rendition })
      else { return false }
      state.entries.append(Entry(broadcaster: broadcaster, description: description))
      return true
    }
    if isAdded { rendition.add(broadcaster) }
  }

  /// Sends sender reports to the viewers of every stream, every 5 s, until the task is cancelled.
  func scheduleReports(on eventLoop: any EventLoop) -> RepeatedTask {
    eventLoop.scheduleRepeatedTask(initialDelay: Self.reportInterval, delay: Self.reportInterval) { _ in
      self.sendReports()
    }
  }

  /// Sends current sender reports to the viewers of every stream.
  func sendReports() {
    for entry in self.state.withLock({ $0.entries }) { entry.broadcaster.sendReports() }
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
  fileprivate init(of broadcaster: RTPBroadcaster) {
    let stream = broadcaster.stream
    let states = broadcaster.senderStates
    var media: [MediaDescription] = []
    var tracks: [Track] = []
    for description in broadcaster.descriptions {
      guard let state = states[description.kind] else { continue }
      let control = "trackID=\(tracks.count)"
      let bitrate = description.kind == .video ? broadcaster.videoBitrate : stream.audioSettings.bitrate
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
