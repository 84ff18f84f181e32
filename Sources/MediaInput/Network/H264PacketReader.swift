internal import Bitstreams
package import Media
package import NIOCore

/// Converts a demuxer's H.264 packets, in Annex B or AVCC format with parameter sets inside or outside, to samples.
///
/// Streams that some output does not support are reported as ``Result/unfit`` and then decoded: other formats than 8-bit 4:2:0,
/// interlaced video, several parameter sets at once, and streams with random access points that are not IDR.
package struct H264PacketReader {
  /// Result of parsing a packet.
  package enum Result {
    case sample(EncodedSample, CodecDescription)
    /// No sample: the packet has no slice, is damaged, or precedes the first keyframe.
    case skipped
    /// The stream cannot be passed through.
    case unfit
  }

  /// Size of NAL unit lengths, in bytes; nil for start codes (Annex B).
  private var lengthSize: Int?
  private var sequenceParameterSet: [UInt8]?
  private var pictureParameterSet: [UInt8]?
  private var description: H264Description?
  private let frameRate: FrameRate
  private var needsKeyframe = true

  /// - Parameters:
  ///   - extradata: The track's `avcC` or Annex B parameter sets, or empty.
  ///   - frameRate: Frame rate where the SPS has none, or an implausible one.
  package init(extradata: [UInt8], frameRate: FrameRate) {
    self.frameRate = frameRate
    self.replace(extradata: extradata)
  }

  /// Replaces the parameter sets of the packets that follow.
  package mutating func replace(extradata: [UInt8]) {
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
    guard let isChanged = self.adopt(unit) else { return .unfit }
    guard unit.payload.readableBytes > 0 else { return .skipped }
    if unit.isKeyframe {
      guard let description = self.describe() else { return .unfit }
      self.description = description
      self.needsKeyframe = false
    } else if isKeyframe || isChanged && self.description != nil {
      return .unfit
    }
    guard !self.needsKeyframe, let description else { return .skipped }
    return .sample(
      EncodedSample(
        kind: .video, payload: unit.payload, presentationTime: times.presentation, decodeTime: times.decode,
        duration: duration ?? description.frameRate.frameInterval, isKeyframe: unit.isKeyframe),
      .h264(description))
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
