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
  private var reader: H264SampleReader
  private var isWaitingForKeyframe = true

  /// - Parameter frameRate: The camera's frame rate, for parameter sets without timing information.
  package init(frameRate: FrameRate) {
    self.frameRate = frameRate
    self.reader = H264SampleReader(frameRate: frameRate)
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
    let isFirst = self.reader.description == nil
    // The frames before the next keyframe refer to those of the old parameter sets.
    if self.reader.adopt(unit) != nil, !isFirst { self.isWaitingForKeyframe = true }
    if unit.payload.readableBytes == 0 {
      return unit.sequenceParameterSets.isEmpty && unit.pictureParameterSets.isEmpty ? .unusable : .parameterSets
    }
    guard let description = self.reader.description else { return .unusable }
    if unit.isKeyframe { self.isWaitingForKeyframe = false }
    guard !self.isWaitingForKeyframe else { return .unusable }
    let sample = EncodedSample(
      kind: .video, payload: self.reader.payload(of: unit, isStart: unit.isKeyframe), presentationTime: time,
      duration: self.frameRate.frameInterval,
      isKeyframe: unit.isKeyframe)
    return .sample(sample, of: description)
  }
}
