internal import Media
internal import NIOCore
internal import RTSP
internal import Synchronization

/// The packets that leave together: an access unit and the audio frames that waited for it, or audio frames alone. Shared by
/// all viewers and event loops.
///
/// The bytes for an RTSP connection are built once for each pair of channels, in one buffer, so that a viewer costs one
/// write.
final class SharedDelivery: Sendable {
  /// Number of the delivery in its stream, from 1 on.
  let number: Int
  /// The audio frames, which precede the access unit.
  let audio: [SharedPackets]
  /// The access unit.
  let video: SharedPackets?
  /// Number of calls of ``RTPBroadcaster/discardEarlier()`` before the access unit was packetized.
  let discards: Int
  private let buffers = Mutex<[(channels: PerTrack<UInt8>, buffer: ByteBuffer)]>([])

  init(number: Int, audio: [SharedPackets], video: SharedPackets? = nil, discards: Int = 0) {
    self.number = number
    self.audio = audio
    self.video = video
    self.discards = discards
  }

  /// The same without the access unit; nil without audio.
  var withoutVideo: SharedDelivery? {
    self.audio.isEmpty ? nil : SharedDelivery(number: self.number, audio: self.audio)
  }

  /// Number of bytes of all packets.
  var byteCount: Int { self.audio.reduce(self.video?.byteCount ?? 0) { $0 + $1.byteCount } }

  /// Start positions for a viewer that starts with this delivery: with the access unit, or with the audio where it has no
  /// video.
  func positions(withVideo: Bool) -> PerTrack<RTPPosition> {
    (withVideo ? self.video : self.audio.first)?.positions ?? PerTrack()
  }

  /// Contents for a viewer with these tracks.
  func contents(video: Bool, audio: Bool) -> ViewerState.Delivery {
    ViewerState.Delivery(
      hasAudio: audio && !self.audio.isEmpty,
      video: video ? self.video.map { $0.isKeyframe ? .keyframe : .dependent } : nil)
  }

  /// The packets of the tracks that have a channel, framed for an RTSP connection, RFC 2326 §10.12; nil when there are none.
  func interleaved(channels: PerTrack<UInt8>) -> ByteBuffer? {
    self.buffers.withLock { buffers in
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
