internal import Codecs
internal import Libc
internal import Media
internal import NIOCore
internal import RTP
internal import Threading

/// A stream of H.264 and AAC that an RTSP server sends interleaved in its connection. Used by one thread at a time.
///
/// A frame is complete with its last packet, which has the marker bit: libavformat ignores that bit, and returns a frame with the first
/// packet of the next one, a frame interval later.
// Safe because the opening thread transfers it to the reading thread and keeps no reference.
final class RTSPConnection: NetworkConnection, @unchecked Sendable {
  let tracks: NetworkTracks
  let pace = SourceTimeline.Pace.camera
  let interrupt: LibavInterrupt
  private let specification: NetworkSpecification
  private var video: H264Description?
  private var audio: AACDescription?
  private var transfer: RTSPTransfer
  /// Content that was received and not yet read.
  private var outputs: ArraySlice<ReceivedMedia>

  /// Time to wait for parameter sets that the session description lacks. Video whose parameter sets come with rare keyframes is
  /// shown later, while its audio is heard.
  private static let descriptionTimeout = MediaDuration.seconds(3)

  /// Whether an address can be tried.
  static func supports(_ specification: NetworkSpecification) -> Bool {
    specification.scheme == "rtsp" && specification.transport == .tcp
  }

  /// Connects, and starts the stream.
  ///
  /// - Parameters:
  ///   - interrupt: Ends blocking calls.
  ///   - limits: Times after which the stream counts as lost.
  init(
    _ specification: NetworkSpecification, interrupt: LibavInterrupt, limits: SourceLife.Limits = SourceLife.Limits()
  ) throws(RTSPTransfer.Failure) {
    var transfer = try RTSPTransfer.open(specification, interrupt: interrupt, limits: limits)
    var (video, audio): (H264Description?, AACDescription?)
    var outputs: [ReceivedMedia] = []
    var byteCount = 0
    let deadline = StreamClock.system.now() + Self.descriptionTimeout
    while transfer.hasVideo ? video == nil : audio == nil {
      guard StreamClock.system.now() < deadline, !interrupt.isCancelled else {
        guard transfer.hasReceivedVideo, !interrupt.isCancelled else { throw transfer.unsupported }
        break
      }
      for output in try transfer.receive(until: deadline) {
        switch output {
        case .description(.h264(let description)): video = description
        case .description(.aac(let description)): audio = description
        case .sample(let sample):
          outputs.append(output)
          byteCount += sample.payload.readableBytes
        case .missingKeyframe, .unsupported: outputs.append(output)
        }
      }
      // Audio without end, and no video.
      guard outputs.count <= PlayoutBuffer.maximumPacketCount, byteCount <= PlayoutBuffer.maximumByteCount else {
        throw transfer.unsupported
      }
    }
    guard
      let tracks = NetworkTracks(
        video: video, audio: audio, awaitsVideo: transfer.hasVideo && video == nil, source: specification.description),
      (tracks.videoFormat != nil) == transfer.hasVideo
    else { throw transfer.unsupported }
    self.tracks = tracks
    self.interrupt = interrupt
    self.specification = specification
    (self.video, self.audio) = (video, audio)
    self.transfer = transfer
    self.outputs = outputs[...]
  }

  func read() throws(VidiconError) -> NetworkItem? {
    if self.outputs.isEmpty { self.outputs = try self.receive()[...] }
    switch self.outputs.popFirst() {
    case .sample(let sample)?: return .packet(NetworkPacket(sample))
    case .description(.h264(let description))?:
      guard description != self.video else { return nil }
      self.video = description
      return .changedCodecs(TrackCodecs(video: .h264(description), source: self.specification.description))
    case .description(.aac(let description))?:
      guard description != self.audio else { return nil }
      self.audio = description
      return .changedCodecs(TrackCodecs(audio: .aac(description), source: self.specification.description))
    case .missingKeyframe(let count)?:
      return .videoWaits(.missingStart(of: self.specification.description, dropped: count))
    // Only tracks whose codec is supported are set up.
    case .unsupported?, nil: return nil
    }
  }

  /// The next content; empty when the source was stopped.
  private func receive() throws(VidiconError) -> [ReceivedMedia] {
    let outputs: [ReceivedMedia]
    do throws(RTSPTransfer.Failure) {
      outputs = try self.transfer.receive()
    } catch {
      switch error {
      case .failed(let error): throw error
      case .unsupported: throw VidiconError(network: -EIO, of: self.specification)
      }
    }
    if outputs.isEmpty, !self.interrupt.isCancelled { throw VidiconError(network: -ETIMEDOUT, of: self.specification) }
    return outputs
  }
}
