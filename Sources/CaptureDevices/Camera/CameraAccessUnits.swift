internal import Bitstreams
internal import Media
internal import NIOCore

/// Makes samples of the access units that an H.264 camera gives, ITU-T H.264 Annex B.
///
/// Parameter sets are remembered, whether they come with each keyframe, once, or in buffers of their own. Until the first
/// keyframe, and from a loss to the next one, pictures are unusable: a decoder would show damage.
struct CameraAccessUnits {
  /// What became of a buffer.
  enum Outcome {
    case sample(EncodedSample, of: H264Description)
    /// There is no picture in it.
    case parameterSets
    /// A picture that cannot be decoded.
    case unusable
  }

  private let frameRate: FrameRate
  private var sequenceParameterSet: [UInt8]?
  private var pictureParameterSet: [UInt8]?
  private var description: H264Description?
  private var isWaitingForKeyframe = true

  /// - Parameter frameRate: That of the camera, for when the parameter sets do not tell it.
  init(frameRate: FrameRate) {
    self.frameRate = frameRate
  }

  /// Waits for the next keyframe.
  ///
  /// - Returns: Whether it did not do so already.
  mutating func handleLoss() -> Bool {
    defer { self.isWaitingForKeyframe = true }
    return !self.isWaitingForKeyframe
  }

  /// Takes apart what is in a buffer.
  mutating func sample(parsing bytes: ByteBuffer, at time: MediaTime) -> Outcome {
    let unit = H264AccessUnit(parsingAnnexB: bytes)
    self.remember(unit)
    if unit.payload.readableBytes == 0 {
      return unit.sequenceParameterSets.isEmpty && unit.pictureParameterSets.isEmpty ? .unusable : .parameterSets
    }
    if unit.isKeyframe, self.description != nil { self.isWaitingForKeyframe = false }
    guard !self.isWaitingForKeyframe, let description else { return .unusable }
    let sample = EncodedSample(
      kind: .video, payload: unit.payload, presentationTime: time, duration: self.frameRate.frameInterval,
      isKeyframe: unit.isKeyframe)
    return .sample(sample, of: description)
  }

  /// Parameter sets that cannot be parsed leave the description as it was.
  private mutating func remember(_ unit: H264AccessUnit) {
    let last = (self.sequenceParameterSet, self.pictureParameterSet)
    if let new = unit.sequenceParameterSets.last { self.sequenceParameterSet = Array(new.readableBytesView) }
    if let new = unit.pictureParameterSets.last { self.pictureParameterSet = Array(new.readableBytesView) }
    guard last != (self.sequenceParameterSet, self.pictureParameterSet), let sequence = self.sequenceParameterSet,
      let picture = self.pictureParameterSet,
      let description = try? H264Description(
        parsing: sequence, pictureParameterSet: picture, frameRate: self.frameRate)
    else { return }
    if let old = self.description, old != description { self.isWaitingForKeyframe = true }
    self.description = description
  }
}
