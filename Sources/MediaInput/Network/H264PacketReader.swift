internal import Bitstreams
package import Media
package import NIOCore

/// Converts a demuxer's H.264 packets, in Annex B or AVCC format with parameter sets inside or outside, to samples.
///
/// Streams that some output does not support are reported as ``Result/unfit(isBlind:)`` and then decoded: other formats than 8-bit
/// 4:2:0, interlaced video, several parameter sets at once, frames that are to be turned, and streams with random access points that are
/// not IDR.
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
  private var reader: H264SampleReader
  /// Description of the samples since the last keyframe; nil before it, or when outputs do not support it.
  private var description: H264Description?
  private var needsKeyframe = true { didSet { if self.needsKeyframe { self.reader.awaitStart() } } }
  /// Whether the packets before the next keyframe are decoded by the owner, so that only that ends the wait.
  private var isDecodedMeanwhile = false

  /// A reader of samples with this description.
  init(_ description: H264Description) {
    self.lengthSize = 4
    self.reader = H264SampleReader(
      H264ParameterSets(AVCDecoderConfiguration(description)), frameRate: description.frameRate)
  }

  /// A reader of a demuxer's packets.
  ///
  /// - Parameters:
  ///   - extradata: The track's `avcC` or Annex B parameter sets, or empty.
  ///   - frameRate: Frame rate where the SPS has none, or an implausible one.
  package init(extradata: [UInt8], frameRate: FrameRate) {
    self.reader = H264SampleReader(frameRate: frameRate)
    self.replace(extradata: extradata)
  }

  /// Replaces the parameter sets of the packets that follow.
  package mutating func replace(extradata: [UInt8]) {
    var parameterSets = H264ParameterSets()
    if extradata.first == 1 {
      guard let configuration = try? AVCDecoderConfiguration(parsing: extradata) else { return }
      self.lengthSize = configuration.lengthSize
      parameterSets = H264ParameterSets(configuration)
    } else {
      self.lengthSize = nil
      parameterSets.adopt(H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: extradata)))
    }
    // Without a pair there, it is waited for in the packets.
    _ = try? self.reader.replace(parameterSets)
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
    let isChanged = self.reader.adopt(unit) != nil
    guard self.reader.isOnePair else { return .unfit(isBlind: false) }
    guard unit.payload.readableBytes > 0 else { return .skipped }
    if unit.isKeyframe {
      guard let description = self.passedDescription(), !unit.isTurned else { return .unfit(isBlind: false) }
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
    return switch self.reader.read(unit, isMarked: false, at: time) {
    case .empty, .early(missing: nil): .skipped
    case .early(let count?): .waiting(skipped: count)
    case .frame: .unfit(isBlind: unit.randomAccess == nil)
    }
  }

  /// Description of the current parameter sets; nil when they cannot be passed through.
  private func passedDescription() -> H264Description? {
    guard let description = self.reader.description else { return nil }
    if description == self.description { return description }
    guard let parsed = try? H264SequenceParameterSet(parsing: description.sequenceParameterSet),
      parsed.chromaFormatIDC == 1, parsed.bitDepthLuma == 8, parsed.bitDepthChroma == 8, parsed.isProgressive
    else { return nil }
    return description
  }
}
