/// What a decoder must know before the first sample of a track.
public enum CodecDescription: Hashable, Sendable {
  /// H.264 video.
  case h264(H264Description)
  /// AAC sound.
  case aac(AACDescription)

  /// What the track carries.
  public var kind: MediaKind {
    switch self {
    case .h264: .video
    case .aac: .audio
    }
  }
}

/// What an H.264 decoder must know: the parameter sets, and what they say of the picture.
public struct H264Description: Hashable, Sendable {
  /// The sequence parameter set as a NAL unit, header byte included, no start code (ITU-T H.264 §7.3.2.1).
  public var sequenceParameterSet: [UInt8]
  /// The picture parameter set as a NAL unit, header byte included, no start code (ITU-T H.264 §7.3.2.2).
  public var pictureParameterSet: [UInt8]
  /// Pixels across, after cropping.
  public var width: Int
  /// Pixels down, after cropping.
  public var height: Int
  /// The intended frame rate.
  public var frameRate: FrameRate

  /// A description from a pair of parameter sets and what is known of the picture.
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

/// What an AAC decoder must know.
public struct AACDescription: Hashable, Sendable {
  /// The `AudioSpecificConfig`, ISO/IEC 14496-3 §1.6.2.1.
  public var audioSpecificConfig: [UInt8]
  /// Sample rate and channels of the decoded sound.
  public var format: AudioFormat
  /// Samples of each channel in one sample: 1024 for AAC-LC.
  public var samplesPerFrame: Int

  /// A description.
  public init(audioSpecificConfig: [UInt8], format: AudioFormat, samplesPerFrame: Int = 1024) {
    self.audioSpecificConfig = audioSpecificConfig
    self.format = format
    self.samplesPerFrame = samplesPerFrame
  }
}

/// What a track carries.
public enum MediaKind: String, Hashable, Sendable, CaseIterable {
  /// Pictures.
  case video
  /// Sound.
  case audio
}
