internal import Bitstreams
internal import Media
internal import NIOCore

/// Makes samples of the H.264 packets of a demuxer, which have start codes or lengths, parameter sets among the slices or
/// apart.
///
/// What our outputs cannot carry is told to be so, and is then decoded: pictures other than 8 bits in 4:2:0, fields, several
/// parameter sets at once, and streams in which decoding starts elsewhere than at IDR pictures.
struct H264PacketReader {
  /// What a packet was.
  enum Result {
    case sample(EncodedSample, CodecDescription)
    /// Nothing to hand on: no picture in it, damaged, or before the first keyframe.
    case skipped
    /// A stream that cannot be handed on as it is.
    case unfit
  }

  /// The bytes of NAL units' lengths; nil where there are start codes.
  private var lengthSize: Int?
  private var sequence: [UInt8]?
  private var picture: [UInt8]?
  private var description: H264Description?
  private let frameRate: FrameRate
  private var needsKeyframe = true

  /// - Parameters:
  ///   - extradata: What the demuxer says of the track: an `avcC`, parameter sets behind start codes, or nothing.
  ///   - frameRate: The rate to note where the parameter set tells none that can be believed.
  init(extradata: [UInt8], frameRate: FrameRate) {
    self.frameRate = frameRate
    self.replace(extradata: extradata)
  }

  /// The track goes on with other parameter sets.
  mutating func replace(extradata: [UInt8]) {
    if extradata.first == 1 {
      guard let configuration = try? AVCDecoderConfiguration(parsing: extradata) else { return }
      self.lengthSize = configuration.lengthSize
      guard configuration.sequenceParameterSets.count == 1, configuration.pictureParameterSets.count == 1 else {
        return
      }
      self.sequence = configuration.sequenceParameterSets[0]
      self.picture = configuration.pictureParameterSets[0]
    } else {
      self.lengthSize = nil
      let unit = H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: extradata))
      if let sequence = unit.sequenceParameterSets.first { self.sequence = Array(sequence.readableBytesView) }
      if let picture = unit.pictureParameterSets.first { self.picture = Array(picture.readableBytesView) }
    }
    self.needsKeyframe = true
  }

  /// Reads a packet.
  ///
  /// - Parameters:
  ///   - isKeyframe: Whether the demuxer says that decoding can start here.
  ///   - duration: How long the picture lasts; nil where that is not known.
  mutating func read(
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

  /// Takes over the parameter sets of an access unit.
  ///
  /// - Returns: Whether they are others than before; nil when there are several at once.
  private mutating func adopt(_ unit: H264AccessUnit) -> Bool? {
    let sequences = Set(unit.sequenceParameterSets.map { Array($0.readableBytesView) })
    let pictures = Set(unit.pictureParameterSets.map { Array($0.readableBytesView) })
    guard sequences.count <= 1, pictures.count <= 1 else { return nil }
    let (sequence, picture) = (sequences.first ?? self.sequence, pictures.first ?? self.picture)
    // A second one beside the first has another identifier; one that takes its place has the same.
    guard Self.isReplacement(of: self.picture, picture) else { return nil }
    defer { (self.sequence, self.picture) = (sequence, picture) }
    return sequence != self.sequence || picture != self.picture
  }

  private static func isReplacement(of old: [UInt8]?, _ new: [UInt8]?) -> Bool {
    guard let old, let new, old != new else { return true }
    return (try? H264PictureParameterSet(parsing: old).id) == (try? H264PictureParameterSet(parsing: new).id)
  }

  /// What the parameter sets say; nil when there are none that can be handed on.
  private func describe() -> H264Description? {
    guard let sequence, let picture else { return nil }
    if let description, description.sequenceParameterSet == sequence, description.pictureParameterSet == picture {
      return description
    }
    guard let parsed = try? H264SequenceParameterSet(parsing: sequence),
      parsed.chromaFormatIDC == 1, parsed.bitDepthLuma == 8, parsed.bitDepthChroma == 8, parsed.isProgressive,
      var description = try? H264Description(
        parsing: sequence, pictureParameterSet: picture, frameRate: self.frameRate)
    else { return nil }
    if !(0.1...240).contains(description.frameRate.framesPerSecond) { description.frameRate = self.frameRate }
    return description
  }
}
