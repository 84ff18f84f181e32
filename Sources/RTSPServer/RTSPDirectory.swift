internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Serving
internal import Streaming
internal import Synchronization

/// The served streams of a server of RTSP, as its sessions see them, and its UDP sockets; shared by all event loops.
final class RTSPDirectory: RTSPStreamDirectory, Sendable {
  /// The sockets, which outputs have before they are open.
  private final class SharedSockets: Sendable {
    let sockets = Mutex<DatagramSockets?>(nil)
  }

  /// The outputs of the streams; the first stream is also found by the empty path.
  let outputs: OutputDirectory<RTPOutput>
  let malformedRequests = Atomic(0)
  private let shared: SharedSockets

  init(eventLoops: [any EventLoop], refusals: RefusalCounters = RefusalCounters()) {
    let shared = SharedSockets()
    self.shared = shared
    self.outputs = OutputDirectory(eventLoops: eventLoops, refusals: refusals) { directory, rendition, descriptions in
      RTPOutput(
        rendition, descriptions: descriptions, eventLoops: directory.eventLoops,
        sockets: { shared.sockets.withLock { $0 } }, refusals: directory.refusals, onEnd: directory.onEnd)
    }
  }

  /// Interval between two sender reports of a track; RFC 3550 §6.2 recommends at least 5 s.
  private static let reportInterval = TimeAmount.seconds(5)

  /// Refusals of all servers.
  var refusals: RefusalCounters { self.outputs.refusals }

  /// The UDP sockets; nil without UDP, or before the server listens.
  var sockets: DatagramSockets? {
    get { self.shared.sockets.withLock { $0 } }
    set { self.shared.sockets.withLock { $0 = newValue } }
  }

  /// Closes the UDP sockets, if there are any.
  func closeSockets() async {
    await self.shared.sockets.withLock { $0.take() }?.close()
  }

  func stream(forPath path: String) -> RTSPStreamDescription? {
    self.outputs.output(atPath: path)?.description
  }

  /// The output of the stream of a description; nil when the stream is no longer served. Parameter sets may
  /// have changed since the description was sent.
  func output(of description: RTSPStreamDescription) -> RTPOutput? {
    self.outputs.all.first { $0.name == description.name && $0.description.tracks == description.tracks }
  }

  /// Whether a path names a rendition that had no viewer yet.
  func needsPreparation(ofPath path: String) -> Bool {
    self.outputs.rendition(atPath: path).map { !$0.isMain && $0.failure == nil } ?? false
  }

  /// Sends sender reports to the viewers of every stream, every 5 s, until the task is cancelled.
  func scheduleReports(on eventLoop: any EventLoop) -> RepeatedTask {
    eventLoop.scheduleRepeatedTask(initialDelay: Self.reportInterval, delay: Self.reportInterval) { _ in
      self.sendReports()
    }
  }

  /// Sends current sender reports to the viewers of every stream.
  func sendReports() {
    for output in self.outputs.all { output.sendReports() }
  }

  /// Counts a malformed message, or a packet on an unknown channel.
  func countMalformed() {
    self.malformedRequests.add(1, ordering: .relaxed)
    self.refusals.count(.malformed)
  }
}

extension RTSPStreamDescription {
  /// The description of a stream as its output sends it.
  init(of output: RTPOutput) {
    let stream = output.stream
    let states = output.senderStates
    var media: [MediaDescription] = []
    var tracks: [Track] = []
    for description in output.descriptions {
      guard let state = states[description.kind] else { continue }
      let control = "trackID=\(tracks.count)"
      let bitrate = description.kind == .video ? output.rendition.bitrate : stream.audioSettings.bitrate
      media.append(
        MediaDescription(description, payloadType: state.payloadType, control: control, bitrate: bitrate))
      tracks.append(Track(kind: description.kind, control: control, ssrc: state.ssrc))
    }
    let session = SessionDescription(
      live: output.name, sessionID: .random(in: 1...UInt64(Int64.max)), address: "0.0.0.0", media: media)
    var text = ByteBuffer()
    session.serialize(into: &text)
    self.init(name: output.name, sessionDescription: String(buffer: text), tracks: tracks)
  }
}
