internal import Delivery
internal import NIOCore
internal import Synchronization

/// The RTP packets that leave together.
typealias RTPDelivery = SharedDelivery<SharedPackets>

extension SharedDelivery<SharedPackets> {
  /// Start positions for a viewer that starts with this delivery: with the access unit, or with the audio where it has no
  /// video.
  func positions(withVideo: Bool) -> PerTrack<RTPPosition> {
    (withVideo ? self.video : self.audio.first)?.positions ?? PerTrack()
  }

  /// The packets of the tracks that have a channel, framed for an RTSP connection, RFC 2326 §10.12; nil when there are none.
  ///
  /// The bytes are built once for each pair of channels, in one buffer, so that a viewer costs one write.
  func interleaved(channels: PerTrack<UInt8>) -> ByteBuffer? {
    self.cache.withLock { buffers in
      for known in buffers where known.channels.video == channels.video && known.channels.audio == channels.audio {
        return known.buffer
      }
      guard let buffer = self.build(channels: channels) else { return nil }
      if buffers.count < SharedPackets.maximumChannelCount { buffers.append((channels, buffer)) }
      return buffer
    }
  }

  private func build(channels: PerTrack<UInt8>) -> ByteBuffer? {
    var parts: [ByteBuffer] = []
    if let channel = channels.audio { parts += self.audio.map { $0.interleaved(channel: channel) } }
    if let channel = channels.video, let video { parts.append(video.interleaved(channel: channel)) }
    guard parts.count > 1 else { return parts.first }
    var buffer = ByteBufferAllocator().buffer(capacity: parts.reduce(0) { $0 + $1.readableBytes })
    for part in parts { buffer.writeImmutableBuffer(part) }
    return buffer
  }
}
