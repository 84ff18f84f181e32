internal import Bitstreams
internal import Media
internal import NIOCore

/// AAC frames that wait for others, to share one PES packet: alone, a frame of 64 kb/s fills barely half of the two
/// transport packets that it takes.
struct PendingSound {
  /// An ADTS header and its frame.
  private(set) var frames: [(header: ByteBuffer, payload: ByteBuffer)] = []
  /// The time of the first frame.
  private(set) var start = MediaTime.zero
  /// Where the last frame ends.
  private(set) var end = MediaTime.zero
  /// The bytes of all frames, with headers.
  private(set) var length = 0

  /// Sound waits at most this long: a third of ``ProgramClock/delay``.
  static let maximumDuration = MediaDuration.milliseconds(100)
  /// Frames further from where the one before ends need a timestamp of their own; ADTS tells none.
  static let maximumJitter = MediaDuration.milliseconds(5)

  var isEmpty: Bool { self.frames.isEmpty }

  /// Whether a frame may follow in the same PES packet.
  func canTake(_ sample: EncodedSample, header: ADTSHeader) -> Bool {
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
