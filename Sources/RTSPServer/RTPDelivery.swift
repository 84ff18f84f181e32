internal import Media
internal import NIOCore
internal import Serving
internal import Synchronization

/// The RTP packets that leave together.
typealias RTPDelivery = SharedDelivery<SharedPackets>

/// The channels of RTP packets within an RTSP connection; nil for a track that a viewer has not set up, or gets over UDP.
// No generic type and no tuple: both are copied by the runtime, once for every viewer and frame.
struct InterleavedChannels: Hashable, Sendable {
  var video: UInt8?
  var audio: UInt8?
}

/// The packets of one or more deliveries for viewers with the same interleaved channels.
struct InterleavedPackets: Sendable {
  let channels: InterleavedChannels
  /// The framed packets, RFC 2326 §10.12.
  let buffer: ByteBuffer
}

extension SharedDelivery<SharedPackets> {
  /// The first packet of each track for a viewer that starts with this delivery: with the access unit and the audio before it, or
  /// with the audio where it has no video.
  ///
  /// - Parameter later: The first audio of the deliveries that follow, where the viewer is sent no audio before; nil where it is
  ///   not known yet. Then its number is known, and its time is taken for that of the access unit.
  func positions(withVideo: Bool, later: SharedPackets?) -> PerTrack<RTPPosition> {
    guard withVideo else { return self.audio.first?.positions ?? PerTrack() }
    var positions = self.video?.positions ?? PerTrack()
    if let audio = self.video?.leadingAudio ?? later { positions.audio = audio.position }
    return positions
  }

  /// The packets of the tracks that have a channel, framed for an RTSP connection, RFC 2326 §10.12; nil when there are none.
  ///
  /// The bytes are built once for each pair of channels, in one buffer, so that a viewer costs one write.
  func interleaved(channels: InterleavedChannels) -> ByteBuffer? {
    self.cache.withLock { buffers in
      for index in buffers.indices where buffers[index].channels == channels { return buffers[index].buffer }
      guard let buffer = self.build(channels: channels) else { return nil }
      if buffers.count < SharedPackets.maximumChannelCount {
        buffers.append(InterleavedPackets(channels: channels, buffer: buffer))
      }
      return buffer
    }
  }

  private func build(channels: InterleavedChannels) -> ByteBuffer? {
    var parts: [ByteBuffer] = []
    if let channel = channels.audio { parts += self.audio.map { $0.interleaved(channel: channel) } }
    if let channel = channels.video, let video { parts.append(video.interleaved(channel: channel)) }
    guard parts.count > 1 else { return parts.first }
    var buffer = ByteBufferAllocator().buffer(capacity: parts.reduce(0) { $0 + $1.readableBytes })
    for part in parts { buffer.writeImmutableBuffer(part) }
    return buffer
  }
}

/// The packets of the deliveries of one turn, in one buffer for each pair of channels: a viewer costs one write, and the buffer is
/// looked up once for all viewers that follow each other with the same channels.
struct InterleavedBatch {
  let deliveries: [RTPDelivery]
  private var buffers: [InterleavedPackets] = []

  init(_ deliveries: [RTPDelivery]) {
    self.deliveries = deliveries
  }

  /// The packets of the tracks that have a channel; nil when there are none.
  mutating func buffer(channels: InterleavedChannels) -> ByteBuffer? {
    if self.deliveries.count == 1 { return self.deliveries[0].interleaved(channels: channels) }
    if let packets = self.buffers.first(where: { $0.channels == channels }) { return packets.buffer }
    let parts = self.deliveries.compactMap { $0.interleaved(channels: channels) }
    guard !parts.isEmpty else { return nil }
    var buffer = ByteBufferAllocator().buffer(capacity: parts.reduce(0) { $0 + $1.readableBytes })
    for part in parts { buffer.writeImmutableBuffer(part) }
    if self.buffers.count < SharedPackets.maximumChannelCount {
      self.buffers.append(InterleavedPackets(channels: channels, buffer: buffer))
    }
    return buffer
  }
}

/// A value for the video track and one for the audio track; nil for a track that a stream does not have.
struct PerTrack<Value> {
  var video: Value?
  var audio: Value?

  subscript(kind: MediaKind) -> Value? {
    get { kind == .video ? self.video : self.audio }
    set {
      switch kind {
      case .video: self.video = newValue
      case .audio: self.audio = newValue
      }
    }
  }

  /// The same tracks with other values.
  func map<Other>(_ transform: (Value) -> Other) -> PerTrack<Other> {
    PerTrack<Other>(video: self.video.map(transform), audio: self.audio.map(transform))
  }
}

extension PerTrack: Sendable where Value: Sendable {}
