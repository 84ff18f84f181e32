import Authentication
import Media
import NIOCore
import NIOPosix
import Serving
import Streaming

/// A protocol as small as one can be, for `CONTRIBUTING.md`: a client sends the path of a stream and a line feed, and is sent its
/// access units from a keyframe on, as ITU-T H.264 Annex B. FFmpeg plays them.
final class ToyServer: TCPStreamServer {
  typealias Outputs = OutputDirectory<ConnectionOutput<ToyPacketizer>>

  static let protocolName = "toy"

  let outputs: Outputs
  let tcp: TCPServer

  init(group: MultiThreadedEventLoopGroup, log: @escaping @Sendable (ServerEvent) -> Void = { _ in }) {
    let access = AccessControl(settings: .init(), makeRandom: { .random(in: 0...UInt64.max) })
    self.outputs = Outputs(eventLoops: Array(group.makeIterator()))
    self.tcp = TCPServer(
      .init(name: "Toy", address: "127.0.0.1", port: 0, unprivilegedPort: 4000),
      .init(
        access: access, passwords: PasswordChecker(access: access), group: group, registry: ConnectionRegistry(log: log)
      ),
      connections: self.outputs.connections)
  }

  func start() async throws(VidiconError) {
    try await self.tcp.start(certificate: nil) { [outputs] in ToyConnection(outputs, $0) }
  }
}

/// Writes access units with start codes, and the parameter sets before each keyframe.
struct ToyPacketizer: ConnectionPacketizer {
  private var description: H264Description?

  init(_ descriptions: [CodecDescription]) {
    for description in descriptions { self.change(to: description) }
  }

  mutating func change(to description: CodecDescription) {
    if case .h264(let video) = description { self.description = video }
  }

  mutating func packets(of sample: EncodedSample) -> [SharedBytes] {
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
    return [SharedBytes(bytes, of: sample)]
  }
}

/// A client's connection.
final class ToyConnection: MediaConnection {
  private let outputs: ToyServer.Outputs
  private var path = ""
  private var isRequested = false
  private let deadline: MediaTime

  init(_ outputs: ToyServer.Outputs, _ environment: Environment) {
    self.outputs = outputs
    self.deadline = Self.now(on: environment.eventLoop) + .seconds(10)
    super.init(environment, maximumUnsentResponses: 0)
  }

  override func receive(_ bytes: ByteBuffer) {
    self.path += String(buffer: bytes)
    guard self.path.utf8.count < 1000, !self.isRequested else { return self.closeAfterWrites() }
    guard self.path.hasSuffix("\n") else { return }
    self.isRequested = true
    let request = AccessRequest(method: "PLAY", address: self.context?.remoteAddress?.ipAddress ?? "")
    guard case .allowed = self.decide(.watch, for: request) else { return self.closeAfterWrites() }
    self.find([String(self.path.dropLast())], in: self.outputs) { output in
      guard let output else { return self.closeAfterWrites() }
      self.registration?.setUse(.session)
      self.play(output, of: self.outputs)
    }
  }

  override var nextDeadline: MediaTime? { self.isRequested ? nil : self.deadline }

  override func handleTimer() {
    if !self.isRequested { self.closeAfterWrites() }
  }
}
