import Authentication
import Media
import NIOCore
import NIOPosix
import Serving
import Streaming
import Synchronization

/// A protocol as small as one can be, for `CONTRIBUTING.md`: a client sends the path of a stream and a line feed, and is sent its
/// access units from a keyframe on, as ITU-T H.264 Annex B. FFmpeg plays them.
final class ToyServer: StreamServer {
  static let protocolName = "toy"

  let outputs: OutputDirectory<ToyOutput>
  private let tcp: TCPServer

  init(group: MultiThreadedEventLoopGroup) {
    let access = AccessControl(settings: .init(), makeRandom: { .random(in: 0...UInt64.max) })
    self.outputs = OutputDirectory(eventLoops: Array(group.makeIterator())) { ToyOutput($1, $2, in: $0) }
    self.tcp = TCPServer(
      .init(name: "Toy", address: "127.0.0.1", port: 0, tls: nil, unprivilegedPort: 4000), access: access,
      passwords: PasswordChecker(access: access), group: group, registry: ConnectionRegistry(),
      connections: self.outputs.connections)
  }

  var port: Int? { self.tcp.ports?.plain }

  func start() async throws(VidiconError) {
    try await self.tcp.start(certificate: nil) { [outputs] in ToyConnection(outputs, $0) }
  }

  func stop() async { await self.tcp.stop() }
}

/// The bytes of one access unit: the same for every viewer.
final class ToyPacket: SharedMedia {
  static let emptyCache: Void = ()
  let kind = MediaKind.video
  let isKeyframe: Bool
  let bytes: ByteBuffer
  var byteCount: Int { self.bytes.readableBytes }

  init(_ bytes: ByteBuffer, isKeyframe: Bool) {
    (self.bytes, self.isKeyframe) = (bytes, isKeyframe)
  }
}

struct ToyPacketizer: SharedMediaPacketizer {
  var description: H264Description?

  mutating func packets(of sample: EncodedSample) -> [ToyPacket] {
    guard sample.kind == .video, let description else { return [] }
    var (bytes, payload) = (ByteBuffer(), sample.payload)
    if sample.isKeyframe {
      for set in [description.sequenceParameterSet, description.pictureParameterSet] {
        bytes.writeBytes([0, 0, 0, 1] + set)
      }
    }
    while let unit = payload.readLengthPrefixedSlice(as: UInt32.self) {
      bytes.writeBytes([0, 0, 0, 1])
      bytes.writeImmutableBuffer(unit)
    }
    return [ToyPacket(bytes, isKeyframe: sample.isKeyframe)]
  }
}

/// Output of a rendition's samples to its viewers.
final class ToyOutput: ServedOutput {
  let rendition: Rendition
  let broadcast: Broadcast<ToyPacketizer, ToySender>
  private let onEnd: @Sendable (ToyOutput) -> Void

  init(_ rendition: Rendition, _ descriptions: [CodecDescription], in directory: OutputDirectory<ToyOutput>) {
    (self.rendition, self.onEnd) = (rendition, directory.onEnd)
    self.broadcast = Broadcast(
      packetizer: ToyPacketizer(), frameRate: nil, eventLoops: directory.eventLoops,
      counters: ViewerCounters(refusals: directory.refusals), keepsKeyframeGroup: false,
      makeSender: { _ in ToySender() }, requestKeyframe: { rendition.requestKeyframe() })
    for description in descriptions { self.descriptionChanged(to: description) }
  }

  var statistics: ViewerStatistics { self.broadcast.statistics }
  var hasConsumers: Bool { self.broadcast.hasViewers }

  func consume(_ sample: EncodedSample) { self.broadcast.consume(sample) }

  func descriptionChanged(to description: CodecDescription) {
    if case .h264(let video) = description { self.broadcast.change { $0.description = video } }
  }

  func discardEarlier() {
    self.broadcast.discardEarlier { for viewer in $0.viewers { viewer.connection.discardEarlier() } }
  }

  func streamEnded() {
    self.broadcast.flush()
    self.onEnd(self)
  }
}

final class ToySender: DeliverySender {
  func send(_ deliveries: [SharedDelivery<ToyPacket>], to viewers: [ArraySlice<ToyViewer>], at now: MediaTime) -> Int {
    viewers.joined().reduce(0) { $0 + $1.send(deliveries, at: now) }
  }
}

final class ToyViewer: ConnectedViewer {
  let connection: ToyConnection
  let counters: ViewerCounters
  var state = ViewerState(startsAtKeyframe: true, skipsToKeyframe: true)
  private var queue: [ToyPacket] = []

  init(_ connection: ToyConnection, _ counters: ViewerCounters) {
    (self.connection, self.counters) = (connection, counters)
  }

  func send(_ deliveries: [SharedDelivery<ToyPacket>], at now: MediaTime) -> Int {
    var byteCount = 0
    self.connection.writing {
      for packet in deliveries.compactMap(\.video) {
        switch self.state.handle(.init(video: packet.isKeyframe ? .keyframe : .dependent), at: now) {
        case .start, .send:
          self.connection.writeMedia(packet.bytes)
          byteCount += packet.byteCount
        case .enqueue: self.queue.append(packet)
        case .skip(let frames): self.drop(frames: frames)
        case .ignore, .sendAudio: break
        }
      }
    }
    return byteCount
  }

  func sendQueued() {
    let packet = self.queue.removeFirst()
    self.counters.bytesSent.add(packet.byteCount, ordering: .relaxed)
    self.connection.writing { self.connection.writeMedia(packet.bytes) }
  }

  func removeQueued() { self.queue.removeAll() }
  func requestKeyframe() { self.connection.output?.rendition.requestKeyframe() }
}

final class ToyConnection: MediaConnection {
  private let outputs: OutputDirectory<ToyOutput>
  private var path = ""
  private(set) var output: ToyOutput?

  init(_ outputs: OutputDirectory<ToyOutput>, _ environment: Environment) {
    self.outputs = outputs
    super.init(environment, maximumUnsentResponses: 0)
  }

  override func receive(_ bytes: ByteBuffer) {
    self.path += String(buffer: bytes)
    guard self.path.utf8.count < 1000, self.output == nil, !self.isClosing else { return self.closeAfterWrites() }
    guard self.path.hasSuffix("\n") else { return }
    let request = AccessRequest(method: "PLAY", address: self.context?.remoteAddress?.ipAddress ?? "")
    let client = self.access.identify(request, covers: { _ in false }, now: self.now)
    let decision = self.access.decide(.watch, for: client, isOnThisMachine: false)
    guard case .allowed = decision else { return self.closeAfterWrites() }
    let handler = NIOLoopBound(self, eventLoop: self.eventLoop)
    self.outputs.find(String(self.path.dropLast())) { found in
      handler.eventLoop.execute { handler.value.play(found) }
    }
  }

  private func play(_ found: ToyOutput?) {
    guard self.context != nil, let found, self.output == nil else { return self.closeAfterWrites() }
    // The stream may have ended since its output was found.
    guard self.outputs.output(of: found.rendition) === found else { return self.closeAfterWrites() }
    self.registration?.setUse(.session)
    self.prepareForMedia(bitrate: found.rendition.bitrate)
    let viewer = ToyViewer(self, found.broadcast.counters)
    (self.output, self.viewer) = (found, viewer)
    if found.broadcast.group(on: self.eventLoop).add(viewer) { found.rendition.beginUse() }
    found.rendition.requestKeyframe()
  }

  override func renditionEnded(_ rendition: Rendition) {
    if self.output?.rendition == rendition { self.closeAfterWrites() }
  }

  override func ended() {
    guard let output, let viewer = self.viewer as? ToyViewer else { return }
    if output.broadcast.group(on: self.eventLoop).remove(viewer) { output.rendition.endUse() }
  }
}
