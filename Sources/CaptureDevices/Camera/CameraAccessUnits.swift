internal import Bitstreams
package import Media
package import NIOCore

/// Converts the access units of an H.264 camera (ITU-T H.264 Annex B) to samples.
///
/// Parameter sets are remembered, whether they come with each keyframe, once, or in buffers of their own. Access units are
/// unusable before the first keyframe and from a loss to the next one, since a decoder would show artifacts.
package struct CameraAccessUnits {
  /// The content of a buffer.
  package enum Outcome {
    /// A decodable access unit.
    case sample(EncodedSample, of: H264Description)
    /// Parameter sets alone.
    case parameterSets
    /// An access unit that cannot be decoded.
    case unusable
  }

  private let frameRate: FrameRate
  private var sequenceParameterSet: [UInt8]?
  private var pictureParameterSet: [UInt8]?
  private var description: H264Description?
  private var isWaitingForKeyframe = true

  /// - Parameter frameRate: The camera's frame rate, for parameter sets without timing information.
  package init(frameRate: FrameRate) {
    self.frameRate = frameRate
  }

  /// Discards access units until the next keyframe.
  ///
  /// - Returns: False when that was already the case.
  package mutating func handleLoss() -> Bool {
    defer { self.isWaitingForKeyframe = true }
    return !self.isWaitingForKeyframe
  }

  /// Parses the content of a buffer.
  package mutating func sample(parsing bytes: ByteBuffer, at time: MediaTime) -> Outcome {
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

  /// Stores parameter sets; those that cannot be parsed leave the description unchanged.
  private mutating func remember(_ unit: H264AccessUnit) {
    let last = (self.sequenceParameterSet, self.pictureParameterSet)
    if let new = unit.sequenceParameterSets.last { self.sequenceParameterSet = Array(new.readableBytesView) }
    if let new = unit.pictureParameterSets.last { self.pictureParameterSet = Array(new.readableBytesView) }
    guard last != (self.sequenceParameterSet, self.pictureParameterSet), let sequence = self.sequenceParameterSet,
      let pictureSet = self.pictureParameterSet,
      let description = try? H264Description(
        parsing: sequence, pictureParameterSet: pictureSet, frameRate: self.frameRate)
    else { return }
    if let old = self.description, old != description { self.isWaitingForKeyframe = true }
    self.description = description
  }
}
