internal import Codecs
internal import Media
internal import NIOCore

/// The compressed pictures of a source from its last keyframe on, and their decoder while one is needed: to begin to decode
/// in the middle of a group of pictures one needs all of it.
///
/// Bounded in pictures and bytes: when a group is longer, decoding cannot begin before the next keyframe.
final class GOPCache {
  static let maximumCount = 600
  static let maximumByteCount = 32 << 20

  /// All since the keyframe; empty when they were too many.
  private var group: [EncodedSample] = []
  private var byteCount = 0
  private var description: H264Description?
  private var decoder: H264Decoder?
  /// What the decoder has not had yet.
  private var pending: [EncodedSample] = []
  /// Whether a keyframe has come, and nothing was missing since.
  private var isWhole = false

  /// Takes the next picture.
  func append(_ sample: EncodedSample, of description: CodecDescription) {
    guard case .h264(let description) = description else { return }
    if description != self.description { self.rest() }
    self.description = description
    if sample.isKeyframe {
      self.isWhole = true
      (self.group, self.byteCount, self.pending) = ([], 0, [])
    }
    guard self.isWhole else { return }
    if self.decoder != nil { self.pending.append(sample) }
    self.byteCount += sample.payload.readableBytes
    if self.group.count < Self.maximumCount, self.byteCount <= Self.maximumByteCount,
      !self.group.isEmpty || sample.isKeyframe
    {
      self.group.append(sample)
    } else {
      self.group = []
    }
  }

  /// Decodes what has come since the last call.
  ///
  /// - Returns: The pictures that are complete with it; of those before the newest sample none, when decoding begins here.
  func decode() -> [VideoFrame] {
    var samples = self.pending
    self.pending = []
    guard let description else { return [] }
    if self.decoder == nil {
      samples = self.group
      guard !samples.isEmpty else { return [] }
      // Without a decoder there is no picture, and the slate says so.
      self.decoder = try? H264Decoder(description)
    }
    guard let decoder else { return [] }
    var frames: [VideoFrame] = []
    for sample in samples { frames = decoder.decode(sample) }
    return frames
  }

  /// Lets the decoder go: pictures are not needed for now.
  func rest() {
    self.decoder = nil
    self.pending = []
  }

  /// Forgets all: another source follows, or pictures are missing.
  func reset() {
    self.rest()
    (self.group, self.byteCount, self.isWhole) = ([], 0, false)
  }
}
