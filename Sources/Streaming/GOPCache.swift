internal import Codecs
internal import Media
internal import NIOCore

/// Access units of a source since its last keyframe, and their decoder while one is needed: decoding in the middle of a
/// group of pictures needs all of it.
///
/// Bounded in samples and bytes: in a longer group, decoding cannot begin before the next keyframe.
final class GOPCache {
  static let maximumCount = 600
  static let maximumByteCount = 32 << 20

  /// Samples since the keyframe; empty when the bounds were exceeded.
  private var group: [EncodedSample] = []
  private var byteCount = 0
  private var description: H264Description?
  private var decoder: H264Decoder?
  /// Samples not decoded yet.
  private var pending: [EncodedSample] = []
  /// Whether a keyframe has arrived and no sample since is missing.
  private var isComplete = false

  /// Appends the next sample.
  func append(_ sample: EncodedSample, of description: CodecDescription) {
    guard case .h264(let description) = description else { return }
    if description != self.description { self.rest() }
    self.description = description
    if sample.isKeyframe {
      self.isComplete = true
      (self.group, self.byteCount, self.pending) = ([], 0, [])
    }
    guard self.isComplete else { return }
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

  /// Decodes the samples since the last call; the whole group where decoding begins here.
  ///
  /// - Returns: The frames completed by the newest sample.
  func decode() -> [VideoFrame] {
    var samples = self.pending
    self.pending = []
    guard let description else { return [] }
    if self.decoder == nil {
      samples = self.group
      guard !samples.isEmpty else { return [] }
      // Without a decoder no frames are output, and the slate replaces them.
      self.decoder = try? H264Decoder(description)
    }
    guard let decoder else { return [] }
    var frames: [VideoFrame] = []
    for sample in samples { frames = decoder.decode(sample) }
    return frames
  }

  /// The samples since the last keyframe; empty where decoding cannot begin before the next one.
  var samples: [EncodedSample] { self.group }

  /// Closes the decoder; the group is kept.
  func rest() {
    self.decoder = nil
    self.pending = []
  }

  /// Removes everything: another source follows, or samples are missing.
  func reset() {
    self.rest()
    (self.group, self.byteCount, self.isComplete) = ([], 0, false)
  }
}
