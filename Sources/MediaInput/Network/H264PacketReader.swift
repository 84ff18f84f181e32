internal import Bitstreams
package import Media
package import NIOCore

/// Converts a demuxer's H.264 packets, in Annex B or AVCC format with parameter sets inside or outside, to samples.
///
/// Streams that some output does not support are reported as ``Result/unfit(isBlind:)`` and then decoded: other formats than 8-bit
/// 4:2:0, interlaced video, several parameter sets at once, and streams with random access points that are not IDR.
package struct H264PacketReader {
  /// Result of parsing a packet.
  package enum Result {
    case sample(EncodedSample, CodecDescription)
    /// No sample: the packet has no slice, is damaged, or precedes the first keyframe.
    case skipped
    /// No sample, and for long nothing at which decoding can start, so that this number of frames was skipped; once.
    case waiting(skipped: Int)
    /// The stream cannot be passed through, and is decoded from this packet on.
    ///
    /// - Parameter isBlind: Whether the packet refers to frames that have not come, so that the first decoded ones are damaged.
    case unfit(isBlind: Bool)
  }

  /// Size of NAL unit lengths, in bytes; nil for start codes (Annex B).
  private var lengthSize: Int?
  private var sequenceParameterSet: [UInt8]?
  private var pictureParameterSet: [UInt8]?
  private var description: H264Description?
  private let frameRate: FrameRate
  private var needsKeyframe = true { didSet { if self.needsKeyframe { self.start = H264DecodingStart() } } }
  /// Start of decoding where the demuxer marks none, as an intra frame without a recovery point.
  private var start = H264DecodingStart()
  private var hasExtradata = false
  /// Whether the packets before the next keyframe are decoded by the owner, so that only that ends the wait.
  private var isDecodedMeanwhile = false

  /// - Parameters:
  ///   - extradata: The track's `avcC` or Annex B parameter sets, or empty.
  ///   - frameRate: Frame rate where the SPS has none, or an implausible one.
  package init(extradata: [UInt8], frameRate: FrameRate) {
    self.frameRate = frameRate
    self.replace(extradata: extradata)
  }

  /// Replaces the parameter sets of the packets that follow.
  package mutating func replace(extradata: [UInt8]) {
    self.hasExtradata = !extradata.isEmpty
    if extradata.first == 1 {
      guard let configuration = try? AVCDecoderConfiguration(parsing: extradata) else { return }
      self.lengthSize = configuration.lengthSize
      guard configuration.sequenceParameterSets.count == 1, configuration.pictureParameterSets.count == 1 else {
        return
      }
      self.sequenceParameterSet = configuration.sequenceParameterSets[0]
      self.pictureParameterSet = configuration.pictureParameterSets[0]
    } else {
      self.lengthSize = nil
      let unit = H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: extradata))
      if let sequence = unit.sequenceParameterSets.first {
        self.sequenceParameterSet = Array(sequence.readableBytesView)
      }
      if let pictureSet = unit.pictureParameterSets.first {
        self.pictureParameterSet = Array(pictureSet.readableBytesView)
      }
    }
    self.needsKeyframe = true
  }

  /// Skips the packets before the next keyframe, which the owner decodes.
  mutating func awaitKeyframe() {
    (self.needsKeyframe, self.isDecodedMeanwhile) = (true, true)
  }

  /// Reads a packet.
  ///
  /// - Parameters:
  ///   - isKeyframe: Whether the demuxer says that decoding can start here.
  ///   - duration: Duration of the frame; nil when unknown.
  package mutating func read(
    _ packet: ByteBuffer, isKeyframe: Bool, times: SourceTimeline.Times, duration: MediaDuration?
  ) -> Result {
    let unit: H264AccessUnit
    do {
      unit =
        try self.lengthSize.map { size throws(ParsingError) in
          try H264AccessUnit(parsingAVCC: packet, lengthSize: size)
        } ?? H264AccessUnit(parsingAnnexB: packet)
    } catch {
      self.needsKeyframe = true
      return .skipped
    }
    guard let isChanged = self.adopt(unit) else { return .unfit(isBlind: false) }
    guard unit.payload.readableBytes > 0 else { return .skipped }
    if unit.isKeyframe {
      guard let description = self.describe() else { return .unfit(isBlind: false) }
      self.description = description
      (self.needsKeyframe, self.isDecodedMeanwhile) = (false, false)
    } else if isKeyframe || isChanged && self.description != nil {
      return .unfit(isBlind: self.needsKeyframe && unit.randomAccess == nil)
    }
    guard !self.needsKeyframe, let description else { return self.wait(with: unit, at: times.decode) }
    return .sample(
      EncodedSample(
        kind: .video, payload: unit.payload, presentationTime: times.presentation, decodeTime: times.decode,
        duration: duration ?? description.frameRate.frameInterval, isKeyframe: unit.isKeyframe),
      .h264(description))
  }

  /// Decides on an access unit before the first keyframe.
  private mutating func wait(with unit: H264AccessUnit, at time: MediaTime) -> Result {
    guard !self.isDecodedMeanwhile else { return .skipped }
    let hasParameterSets = self.hasExtradata || self.sequenceParameterSet != nil && self.pictureParameterSet != nil
    return switch self.start.handle(unit, isMarked: false, hasParameterSets: hasParameterSets, at: time) {
    case .drop: .skipped
    case .reportMissing(let count): .waiting(skipped: count)
    case .take: .unfit(isBlind: unit.randomAccess == nil)
    }
  }

  /// Stores the parameter sets of an access unit.
  ///
  /// - Returns: Whether they have changed; nil when there are several at once.
  private mutating func adopt(_ unit: H264AccessUnit) -> Bool? {
    let sequences = Set(unit.sequenceParameterSets.map { Array($0.readableBytesView) })
    let pictureSets = Set(unit.pictureParameterSets.map { Array($0.readableBytesView) })
    guard sequences.count <= 1, pictureSets.count <= 1 else { return nil }
    let (sequence, pictureSet) = (
      sequences.first ?? self.sequenceParameterSet, pictureSets.first ?? self.pictureParameterSet
    )
    // A replacement has the same identifier; an additional PPS has another one.
    guard Self.isReplacement(of: self.pictureParameterSet, pictureSet) else { return nil }
    defer { (self.sequenceParameterSet, self.pictureParameterSet) = (sequence, pictureSet) }
    return sequence != self.sequenceParameterSet || pictureSet != self.pictureParameterSet
  }

  private static func isReplacement(of old: [UInt8]?, _ new: [UInt8]?) -> Bool {
    guard let old, let new, old != new else { return true }
    return (try? H264PictureParameterSet(parsing: old).id) == (try? H264PictureParameterSet(parsing: new).id)
  }

  /// Description of the current parameter sets; nil when they cannot be passed through.
  private func describe() -> H264Description? {
    guard let sequence = self.sequenceParameterSet, let pictureSet = self.pictureParameterSet else { return nil }
    if let description, description.sequenceParameterSet == sequence, description.pictureParameterSet == pictureSet {
      return description
    }
    guard let parsed = try? H264SequenceParameterSet(parsing: sequence),
      parsed.chromaFormatIDC == 1, parsed.bitDepthLuma == 8, parsed.bitDepthChroma == 8, parsed.isProgressive,
      var description = try? H264Description(
        parsing: sequence, pictureParameterSet: pictureSet, frameRate: self.frameRate)
    else { return nil }
    if !(0.1...240).contains(description.frameRate.framesPerSecond) { description.frameRate = self.frameRate }
    return description
  }
}
