/// Codec configuration of a track: what a decoder needs before the first sample.
///
/// Encoders, and readers of compressed sources, make it. Outputs get it on the thread of the samples that it describes, before the first
/// of them:
///
/// ```swift
/// for case .h264(let video) in stream.descriptions { print("\(video.width) × \(video.height)") }
/// ```
public enum CodecDescription: Hashable, Sendable {
  /// H.264 video.
  case h264(H264Description)
  /// AAC audio.
  case aac(AACDescription)

  /// Whether the track carries video or audio.
  public var kind: MediaKind {
    switch self {
    case .h264: .video
    case .aac: .audio
    }
  }
}

extension Sequence<CodecDescription> {
  /// Nominal frame rate of the video track; nil without one.
  public var frameRate: FrameRate? {
    for case .h264(let video) in self { return video.frameRate }
    return nil
  }
}

extension Array<CodecDescription> {
  /// Replaces the description of the track of the same kind.
  ///
  /// - Returns: Whether there is such a track, whose description was another one.
  package mutating func replace(_ description: CodecDescription) -> Bool {
    guard let index = self.firstIndex(where: { $0.kind == description.kind }), self[index] != description else {
      return false
    }
    self[index] = description
    return true
  }
}

/// H.264 decoder configuration: one pair of parameter sets, with the frame size and rate that they describe.
public struct H264Description: Hashable, Sendable {
  /// Sequence parameter set as a NAL unit with header byte, without start code (ITU-T H.264 §7.3.2.1).
  public var sequenceParameterSet: [UInt8]
  /// Picture parameter set as a NAL unit with header byte, without start code (ITU-T H.264 §7.3.2.2).
  public var pictureParameterSet: [UInt8]
  /// Width of a frame in pixels, after cropping.
  public var width: Int
  /// Height of a frame in pixels, after cropping.
  public var height: Int
  /// Nominal frame rate, in frames per second; frames may come at uneven times.
  public var frameRate: FrameRate

  /// Creates a configuration; the parameter sets are not parsed or checked.
  public init(
    sequenceParameterSet: [UInt8], pictureParameterSet: [UInt8], width: Int, height: Int, frameRate: FrameRate
  ) {
    self.sequenceParameterSet = sequenceParameterSet
    self.pictureParameterSet = pictureParameterSet
    self.width = width
    self.height = height
    self.frameRate = frameRate
  }
}

/// AAC decoder configuration: the `AudioSpecificConfig`, with the format and frame length that it describes.
public struct AACDescription: Hashable, Sendable {
  /// Bytes of the `AudioSpecificConfig`, ISO/IEC 14496-3 §1.6.2.1.
  public var audioSpecificConfig: [UInt8]
  /// Sample rate and channel count of the decoded audio.
  public var format: AudioFormat
  /// Audio samples per channel in one AAC frame: 1024, or 960.
  public var samplesPerFrame: Int

  /// Creates a configuration; the bytes are not parsed or checked.
  public init(audioSpecificConfig: [UInt8], format: AudioFormat, samplesPerFrame: Int = 1024) {
    self.audioSpecificConfig = audioSpecificConfig
    self.format = format
    self.samplesPerFrame = samplesPerFrame
  }
}

/// Kind of media in a track.
public enum MediaKind: String, Hashable, Sendable, CaseIterable {
  /// H.264 video.
  case video
  /// AAC audio.
  case audio
}
