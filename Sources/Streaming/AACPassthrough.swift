internal import Bitstreams
internal import Media
internal import NIOCore

/// Decides whether the AAC packets of a source are output unchanged, and with which times.
///
/// Packets are output while they match the announced configuration and are contiguous. Other audio is encoded, until
/// one second of packets has matched again, since each change between encoder and packets is audible. Times are counted
/// in samples, as in the encoder, and slowly corrected towards those of the source.
struct AACPassthrough {
  /// Announced configuration; nil where nothing is to be passed through.
  private let config: AudioSpecificConfig?
  private let format: AudioFormat
  private let samplesPerFrame: Int
  /// Maximum overlap of the first packet with encoded audio; keeps the gap below 40 ms and below three quarters of a
  /// frame.
  private let maximumOverlap: MediaDuration
  /// The last description compared, and whether it equals the announced one.
  private var known: (description: AACDescription, isAnnounced: Bool)?
  /// Time origin and count of the packets passed through; nil while the encoder is used.
  private var passing: (anchor: MediaTime, count: Int64)?
  /// End of the encoded audio.
  private var encodedEnd: MediaTime?
  /// Start of the current run of contiguous packets.
  private var steadySince: MediaTime?
  /// The last packets of the run: when output changes to packets, they replace the up to three frames that the encoder
  /// has not output yet.
  private var recent: [EncodedSample] = []

  /// Minimum length of a run of contiguous packets before they are passed through.
  static let settlingTime = MediaDuration.seconds(1)
  /// Maximum deviation from the source's times without a correction, and the correction per packet beyond it.
  static let deadBand = MediaDuration.milliseconds(5)
  static let correction = MediaDuration.microseconds(100)
  /// Maximum bytes of a packet per channel: 6144 bits, ISO/IEC 14496-3 §4.5.3.
  private static let maximumChannelBytes = 768
  private static let maximumGap = MediaDuration.milliseconds(40)
  private static let recentCount = 5

  /// - Parameters:
  ///   - description: The announced configuration.
  ///   - isWanted: Whether packets are passed through at all; false encodes all audio.
  init(_ description: AACDescription, isWanted: Bool) {
    self.config = isWanted ? try? AudioSpecificConfig(parsing: description.audioSpecificConfig) : nil
    self.format = description.format
    self.samplesPerFrame = description.samplesPerFrame
    let frame = description.format.duration(ofSamples: description.samplesPerFrame)
    self.maximumOverlap = max(frame / 4, frame - Self.maximumGap)
  }

  /// The time of the next packet while packets are passed through; nil while the encoder is used.
  var nextTime: MediaTime? {
    self.passing.map { $0.anchor + self.format.duration(ofSamples: Int($0.count) * self.samplesPerFrame) }
  }

  /// The packets to output in place of a block; empty when the block is to be encoded.
  ///
  /// - Parameters:
  ///   - time: Start of the block by the count of samples.
  ///   - follows: Whether it is contiguous with the previous block of the same source.
  ///   - isMuted: Whether the audio is muted.
  mutating func samples(
    for block: AudioBlock, at time: MediaTime, follows: Bool, isMuted: Bool
  ) -> [EncodedSample] {
    guard follows, !isMuted, let packet = block.packet, self.fits(packet, of: block) else {
      self.reset()
      return []
    }
    let frame = self.format.duration(ofSamples: self.samplesPerFrame)
    let sample = EncodedSample(
      kind: .audio, payload: packet.payload, presentationTime: time, duration: frame, isKeyframe: true)
    if let (anchor, count) = self.passing {
      self.passing = (anchor + Self.correction(of: block.timestamp - time), count + 1)
      return [sample]
    }
    if self.recent.count == Self.recentCount { self.recent.removeFirst() }
    self.recent.append(sample)
    let since = self.steadySince ?? time
    self.steadySince = since
    guard time - since >= Self.settlingTime, let encodedEnd,
      let first = self.recent.firstIndex(where: { $0.presentationTime >= encodedEnd - self.maximumOverlap }),
      self.recent[first].presentationTime < encodedEnd - self.maximumOverlap + frame
    else { return [] }
    defer {
      self.reset()
      self.passing = (time, 1)
    }
    return Array(self.recent[first...])
  }

  /// Records the end of a sample of the encoder, at which packets may follow.
  mutating func encoded(_ sample: EncodedSample) {
    self.encodedEnd = sample.presentationTime + sample.duration
  }

  /// Ends the run of contiguous packets.
  mutating func reset() {
    self.steadySince = nil
    self.recent = []
  }

  /// Switches to the encoder.
  ///
  /// - Returns: The time at which the encoder continues; nil when it was in use already.
  mutating func switchToEncoder() -> MediaTime? {
    guard let time = self.nextTime else { return nil }
    self.passing = nil
    self.encodedEnd = time
    return time
  }

  private mutating func fits(_ packet: AudioPacket, of block: AudioBlock) -> Bool {
    guard block.format == self.format, block.sampleCount == self.samplesPerFrame,
      (1...Self.maximumChannelBytes * self.format.channelCount).contains(packet.payload.readableBytes)
    else { return false }
    if let known, known.description == packet.description { return known.isAnnounced }
    let isAnnounced = self.isAnnounced(packet.description)
    self.known = (packet.description, isAnnounced)
    return isAnnounced
  }

  /// Whether the announced configuration also decodes this one; encoders differ in how they signal absent spectral band
  /// replication.
  private func isAnnounced(_ description: AACDescription) -> Bool {
    guard let config, let other = try? AudioSpecificConfig(parsing: description.audioSpecificConfig) else {
      return false
    }
    return other == config && description.format == self.format && description.samplesPerFrame == self.samplesPerFrame
  }

  private static func correction(of deviation: MediaDuration) -> MediaDuration {
    if deviation > Self.deadBand { return Self.correction }
    return deviation < .zero - Self.deadBand ? .zero - Self.correction : .zero
  }
}
