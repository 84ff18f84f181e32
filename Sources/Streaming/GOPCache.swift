internal import Bitstreams
internal import Codecs
internal import Media
internal import NIOCore

/// Access units of a source since its last keyframe, and their decoder while one is needed: decoding in the middle of a
/// group of pictures needs all of it.
///
/// Bounded in samples and bytes: in a longer group, decoding cannot begin before the next keyframe, or recovery point. Streams with
/// intra refresh have no keyframe after the first one: their group begins again at a recovery point before it is too long.
final class GOPCache {
  static let maximumCount = 600
  static let maximumByteCount = 32 << 20

  /// Samples since the keyframe; empty where decoding cannot begin before the next one.
  private(set) var samples: [EncodedSample] = []
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
    var isStart = sample.isKeyframe
    if sample.isKeyframe {
      self.isComplete = true
      (self.samples, self.byteCount, self.pending) = ([], 0, [])
    } else if self.isLong, H264AccessUnit.hasRecoveryPoint(in: sample.payload) {
      isStart = true
      (self.samples, self.byteCount) = ([], 0)
    }
    guard self.isComplete else { return }
    if self.decoder != nil { self.pending.append(sample) }
    self.byteCount += sample.payload.readableBytes
    if self.samples.count < Self.maximumCount, self.byteCount <= Self.maximumByteCount, !self.samples.isEmpty || isStart
    {
      self.samples.append(sample)
    } else {
      self.samples = []
    }
  }

  /// Whether the group begins again at the next recovery point: it is half as long as it may be, or was too long.
  private var isLong: Bool {
    self.samples.isEmpty || self.samples.count >= Self.maximumCount / 2 || self.byteCount >= Self.maximumByteCount / 2
  }

  /// Decodes the samples since the last call; the whole group where decoding begins here.
  ///
  /// - Returns: The frames completed by the newest sample.
  func decode() -> [VideoFrame] {
    var samples = self.pending
    self.pending = []
    guard let description else { return [] }
    if self.decoder == nil {
      samples = self.samples
      guard !samples.isEmpty else { return [] }
      // Without a decoder no frames are output, and the slate replaces them.
      self.decoder = try? H264Decoder(description)
    }
    guard let decoder else { return [] }
    var frames: [VideoFrame] = []
    for sample in samples { frames = decoder.decode(sample) }
    return frames
  }

  /// Decodes the group from its keyframe on, whatever was decoded before.
  ///
  /// - Returns: The last frame; nil without one.
  func decodeLast() -> VideoFrame? {
    guard let (description, samples) = self.group else { return nil }
    self.rest()
    guard let decoder = try? H264Decoder(description) else { return nil }
    self.decoder = decoder
    return samples.reduce(nil) { decoder.decode($1).last ?? $0 }
  }

  /// ``samples`` and their configuration; nil where decoding cannot begin before the next keyframe.
  var group: (description: H264Description, samples: [EncodedSample])? {
    guard let description, !self.samples.isEmpty else { return nil }
    return (description, self.samples)
  }

  /// Whether decoding can begin, or goes on.
  var isDecodable: Bool { self.isComplete && (self.decoder != nil || !self.samples.isEmpty) }

  /// Closes the decoder; the group is kept.
  func rest() {
    self.decoder = nil
    self.pending = []
  }

  /// Removes everything: another source follows, or samples are missing.
  func reset() {
    self.rest()
    (self.samples, self.byteCount, self.isComplete) = ([], 0, false)
  }
}
