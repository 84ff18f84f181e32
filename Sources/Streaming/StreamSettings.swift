public import Media

/// What a stream's picture is to be.
public struct VideoSettings: Hashable, Sendable {
  /// How a source's picture fills a canvas of another shape.
  public enum Scaling: String, Hashable, Sendable, CaseIterable {
    /// The whole picture, with black bars beside it.
    case fit
    /// The whole canvas; what stands out is cropped evenly at both sides.
    case fill
  }

  /// Pixels across, even, 16 to 8192; nil for the source's own.
  public var width: Int?
  /// Pixels down, even, 16 to 8192; nil for the source's own.
  public var height: Int?
  /// The most pictures a second; a slower source is not filled up. Nil for the source's own rate.
  public var frameRate: FrameRate?
  /// Bits a second. A source that compresses itself is passed through, at its own bitrate, where this is
  /// ``defaultBitrate``; and encoded anew where it is not.
  public var bitrate: Int
  /// The longest time between two keyframes; a source that is passed through has its own.
  public var keyframeInterval: MediaDuration
  /// The encoder's name in libavcodec, such as libx264, h264_vaapi, h264_v4l2m2m, h264_nvenc.
  public var encoder: String
  /// How a source of another shape fills the canvas.
  public var scaling: Scaling
  /// The time without a frame after which viewers see the slate.
  public var sourceTimeout: MediaDuration
  /// The time between two pictures while encoding is paused, which show that the stream lives.
  package var pausedInterval = MediaDuration.seconds(2)
  /// How long a switch waits for the new source, of pictures or of sound.
  var switchTimeouts = SwitchTimeouts()

  /// 2.3 Mb/s.
  public static let defaultBitrate = 2_300_000

  /// Settings; by default those of the source, at 2.3 Mb/s, with a keyframe each two seconds.
  public init(
    width: Int? = nil,
    height: Int? = nil,
    frameRate: FrameRate? = nil,
    bitrate: Int = VideoSettings.defaultBitrate,
    keyframeInterval: MediaDuration = .seconds(2),
    encoder: String = "libx264",
    scaling: Scaling = .fit,
    sourceTimeout: MediaDuration = .seconds(2)
  ) {
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.bitrate = bitrate
    self.keyframeInterval = keyframeInterval
    self.encoder = encoder
    self.scaling = scaling
    self.sourceTimeout = sourceTimeout
  }
}

/// What a stream's sound is to be.
public struct AudioSettings: Hashable, Sendable {
  /// Samples a second of one channel; nil for the source's own where AAC has it, else 48 000.
  public var sampleRate: Int?
  /// 1 or 2; nil for the source's own, at most 2.
  public var channelCount: Int?
  /// Bits a second. AAC of a network source is passed through, at its own bitrate, where this is ``defaultBitrate``; and
  /// encoded anew where it is not.
  public var bitrate: Int
  /// How long the sound may be late before silence takes its place.
  package var patience = MediaDuration.milliseconds(300)

  /// 64 kb/s.
  public static let defaultBitrate = 64_000

  /// Settings; by default the source's format at 64 kb/s.
  public init(sampleRate: Int? = nil, channelCount: Int? = nil, bitrate: Int = AudioSettings.defaultBitrate) {
    self.sampleRate = sampleRate
    self.channelCount = channelCount
    self.bitrate = bitrate
  }

  /// The sample rates of AAC, ISO/IEC 14496-3 table 1.18.
  static let sampleRates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  /// The format to encode for a source's.
  func format(for source: AudioFormat) -> AudioFormat {
    AudioFormat(
      sampleRate: self.sampleRate ?? (Self.sampleRates.contains(source.sampleRate) ? source.sampleRate : 48_000),
      channelCount: self.channelCount ?? min(source.channelCount, 2))
  }
}

extension VideoSettings {
  /// A phone held upright, as video messages have it: 720 by 1280 pixels at 2.3 Mb/s. Goes with ``AudioSettings/portrait``.
  public static let portrait = VideoSettings(width: 720, height: 1280, bitrate: 2_300_000)
}

extension AudioSettings {
  /// One channel at 44.1 kHz and 64 kb/s. Goes with ``VideoSettings/portrait``.
  public static let portrait = AudioSettings(sampleRate: 44_100, channelCount: 1, bitrate: 64_000)
}
