internal import Bitstreams
internal import Media
internal import NIOCore

/// Whether the packets that a source's sound was decoded from go out as they came, and when.
///
/// They do while they are what the stream has announced, and each follows on the one before it. The encoder, which takes over
/// when one does not, is left only after a second in which they did, since decoders hear each of the two changes. Times are
/// counted in samples from packet to packet, as the encoder counts them, and drawn towards those of the source slowly.
struct AACPassthrough {
  /// What has been announced; nil where nothing is to be passed through.
  private let config: AudioSpecificConfig?
  private let format: AudioFormat
  private let samplesPerFrame: Int
  /// How far the first packet may lie before the end of what was encoded: some of them overlap, so that no gap is greater than
  /// 40 ms, nor than three quarters of a frame.
  private let longestOverlap: MediaDuration
  /// The last description that was looked at, and whether it is what has been announced.
  private var known: (description: AACDescription, isAnnounced: Bool)?
  /// While packets are passed through, where their count began, and how many went out since.
  private var passing: (anchor: MediaTime, count: Int64)?
  /// Where that which the encoder has put out ends.
  private var encodedEnd: MediaTime?
  /// When the packets that follow on each other began.
  private var steadySince: MediaTime?
  /// The last of these. The encoder keeps up to three frames back, for which they stand when it is left.
  private var recent: [EncodedSample] = []

  /// How long packets must follow on each other before they are passed through.
  static let settlingTime = MediaDuration.seconds(1)
  /// How far times may be off those of the source before they are drawn towards them, and how far at once.
  static let deadBand = MediaDuration.milliseconds(5)
  static let correction = MediaDuration.microseconds(100)
  /// The longest packet of one channel: 6144 bits, ISO/IEC 14496-3 §4.5.3.
  private static let longestChannel = 768
  private static let longestGap = MediaDuration.milliseconds(40)
  private static let recentCount = 5

  /// - Parameters:
  ///   - description: What the stream has announced.
  ///   - isWanted: False where all sound is to be encoded.
  init(_ description: AACDescription, isWanted: Bool) {
    self.config = isWanted ? try? AudioSpecificConfig(parsing: description.audioSpecificConfig) : nil
    self.format = description.format
    self.samplesPerFrame = description.samplesPerFrame
    let frame = description.format.duration(ofSamples: description.samplesPerFrame)
    self.longestOverlap = max(frame / 4, frame - Self.longestGap)
  }

  /// The time of the next packet while they are passed through; nil while the encoder is at work.
  var nextTime: MediaTime? {
    self.passing.map { $0.anchor + self.format.duration(ofSamples: Int($0.count) * self.samplesPerFrame) }
  }

  /// What goes out in place of a block; empty when it is to be encoded.
  ///
  /// - Parameters:
  ///   - time: Where its sound begins by the count of samples.
  ///   - follows: Whether it is of the same source as the last one, and neither silence nor a cut lies between them.
  ///   - isMuted: Whether nobody is to hear it.
  mutating func samples(
    for block: AudioBlock, at time: MediaTime, follows: Bool, isMuted: Bool
  ) -> [EncodedSample] {
    guard follows, !isMuted, let packet = block.packet, self.fits(packet, of: block) else {
      self.unsettle()
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
      let first = self.recent.firstIndex(where: { $0.presentationTime >= encodedEnd - self.longestOverlap }),
      self.recent[first].presentationTime < encodedEnd - self.longestOverlap + frame
    else { return [] }
    defer {
      self.unsettle()
      self.passing = (time, 1)
    }
    return Array(self.recent[first...])
  }

  /// The encoder has put out a sample.
  mutating func encoded(_ sample: EncodedSample) {
    self.encodedEnd = sample.presentationTime + sample.duration
  }

  /// Something else stands between two blocks.
  mutating func unsettle() {
    self.steadySince = nil
    self.recent = []
  }

  /// The encoder is given sound.
  ///
  /// - Returns: The time from which on it is to encode; nil when it has been at work.
  mutating func encoderTakesOver() -> MediaTime? {
    guard let time = self.nextTime else { return nil }
    self.passing = nil
    self.encodedEnd = time
    return time
  }

  private mutating func fits(_ packet: AudioPacket, of block: AudioBlock) -> Bool {
    guard block.format == self.format, block.sampleCount == self.samplesPerFrame,
      (1...Self.longestChannel * self.format.channelCount).contains(packet.payload.readableBytes)
    else { return false }
    if let known, known.description == packet.description { return known.isAnnounced }
    let isAnnounced = self.isAnnounced(packet.description)
    self.known = (packet.description, isAnnounced)
    return isAnnounced
  }

  /// Whether the same decoder plays it: what is told of no spectral band replication differs between encoders.
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
