internal import Bitstreams
internal import Media
internal import NIOCore

/// AAC frames collected for one PES packet: a single frame at 64 kb/s fills barely half of its two transport packets.
struct PendingAudio {
  /// ADTS header and payload of each frame.
  private(set) var frames: [(header: ByteBuffer, payload: ByteBuffer)] = []
  /// Presentation time of the first frame.
  private(set) var start = MediaTime.zero
  /// End of the last frame.
  private(set) var end = MediaTime.zero
  /// Bytes of all frames and headers.
  private(set) var length = 0

  /// Maximum duration of the collected frames: a third of ``ProgramClock/delay``.
  static let maximumDuration = MediaDuration.milliseconds(100)
  /// Maximum distance between the end of a frame and the next one within a PES packet, since ADTS has no timestamps.
  static let maximumJitter = MediaDuration.milliseconds(5)

  var isEmpty: Bool { self.frames.isEmpty }

  /// Whether a frame fits the same PES packet in time and length.
  func canAppend(_ sample: EncodedSample, header: ADTSHeader) -> Bool {
    guard !self.isEmpty else { return true }
    let jitter = sample.presentationTime - self.end
    return jitter <= Self.maximumJitter && jitter >= MediaDuration.zero - Self.maximumJitter
      && self.length + header.length + header.payloadLength <= PESHeader.maximumPayload
  }

  mutating func append(_ sample: EncodedSample, header: ADTSHeader) {
    if self.isEmpty { self.start = sample.presentationTime }
    self.end = sample.presentationTime + sample.duration
    self.length += header.length + header.payloadLength
    var bytes = ByteBufferAllocator().buffer(capacity: header.length)
    header.serialize(into: &bytes)
    self.frames.append((bytes, sample.payload))
  }

  mutating func removeAll() {
    self.frames.removeAll(keepingCapacity: true)
    self.length = 0
  }
}
