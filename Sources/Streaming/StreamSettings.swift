internal import Codecs
public import Media

/// Size, rate, bitrate and encoder of a stream's video.
public struct VideoSettings: Hashable, Sendable {
  /// Placement of a source whose aspect ratio differs from the output.
  public enum Scaling: String, Hashable, Sendable, CaseIterable {
    /// The whole frame, with black bars.
    case fit
    /// The whole output; excess is cropped evenly at both sides.
    case fill
  }

  /// Conditions under which access units of a source that compresses its video are output as they are.
  ///
  /// In every mode they have to fit: H.264 without B-frames, upright and of the stream's size and frame rate, no effects, the
  /// default bitrate and encoder.
  public enum PassThrough: String, Hashable, Sendable, CaseIterable {
    /// Decided with the first access unit of the stream's first source, and for good: no longer after a switch to another
    /// source, or when viewers wait for a keyframe, the last one is more than 4 s old, and the source meets no requests.
    /// Parameter sets do not change because of a switch back.
    case auto
    /// Always when they fit, from any source and with keyframes at any distance.
    case on
    /// Never: every frame is encoded.
    case off
  }

  /// Width in pixels, even, 16 to 8192; nil for the source's.
  public var width: Int?
  /// Height in pixels, even, 16 to 8192; nil for the source's.
  public var height: Int?
  /// Maximum frame rate; frames of a slower source are not repeated to reach it. Nil for the source's.
  public var frameRate: FrameRate?
  /// Bitrate in bits per second. A source that compresses its video is passed through at its own bitrate where this is
  /// ``defaultBitrate`` and ``passThrough`` allows it, and transcoded otherwise.
  public var bitrate: Int
  /// Maximum time between two keyframes; a source that is passed through has its own.
  public var keyframeInterval: MediaDuration
  /// Name of the encoder in libavcodec, such as libx264, h264_vaapi, h264_v4l2m2m, h264_nvenc.
  public var encoder: String
  /// Profile of the encoded H.264, in all renditions; with one, no source is passed through. Nil for High. It never changes
  /// while the stream runs.
  public var profile: H264Profile?
  /// Length of the encoder's rate control buffer (VBV), 0.25 to 2 s. The shorter it is, the smaller are keyframes, so that a network
  /// needs less room for them, and the lower is the quality of frames that differ much from those before.
  public var rateBuffer: MediaDuration
  /// Placement of a source of another aspect ratio; ``Scaling/fit`` by default.
  public var scaling: Scaling
  /// Conditions under which access units of the source are passed through.
  public var passThrough: PassThrough
  /// Time without a frame after which the slate is shown.
  public var sourceTimeout: MediaDuration
  /// Further renditions of the stream, each encoded only while it has viewers.
  public var renditions: RenditionChoice
  /// Delay of the slate after the end of the source. An owner that ends the stream with its source needs an hour, since it may be
  /// late on a busy machine.
  package var slateDelayAfterEnd = MediaDuration.milliseconds(250)
  /// Text of the slate, in the characters of ``BitmapFont``.
  package var slateText = "NO SIGNAL"
  /// Text of the slate while the source is connected, and nothing has come at which decoding can start.
  package var waitingSlateText = "CONNECTED, NO FRAME YET"
  /// Time between two frames while encoding is paused, which keep connections alive.
  package var pausedInterval = MediaDuration.seconds(2)
  /// Time after its last use for which the encoder of a rendition stays open.
  package var renditionLingerTime = MediaDuration.seconds(10)
  /// Time after a failure before which a rendition's encoder is not opened again.
  package var renditionRetryDelay = MediaDuration.seconds(10)
  /// Maximum time that a request waits for a rendition's encoder.
  package var renditionPreparationTimeout = RenditionEncoding.preparationTimeout
  /// Timeouts of switching to another source, video or audio.
  var switchTimeouts = SwitchTimeouts()

  /// Minimum and maximum ``rateBuffer``: 250 ms to 2 s.
  public static let rateBuffers = MediaDuration.milliseconds(250)...(.seconds(2))

  /// Default of ``bitrate``: 2.3 Mb/s. With another bitrate, compressed sources are transcoded.
  public static let defaultBitrate = 2_300_000

  /// Creates settings; by default the source's size and frame rate, 2.3 Mb/s, and a keyframe every two seconds.
  public init(
    width: Int? = nil,
    height: Int? = nil,
    frameRate: FrameRate? = nil,
    bitrate: Int = VideoSettings.defaultBitrate,
    keyframeInterval: MediaDuration = .seconds(2),
    encoder: String = "libx264",
    scaling: Scaling = .fit,
    passThrough: PassThrough = .auto,
    sourceTimeout: MediaDuration = .seconds(2),
    renditions: RenditionChoice = .automatic,
    profile: H264Profile? = nil,
    rateBuffer: MediaDuration = .seconds(1)
  ) {
    self.profile = profile
    self.rateBuffer = min(max(rateBuffer, Self.rateBuffers.lowerBound), Self.rateBuffers.upperBound)
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.bitrate = bitrate
    self.keyframeInterval = keyframeInterval
    self.encoder = encoder
    self.scaling = scaling
    self.passThrough = passThrough
    self.sourceTimeout = sourceTimeout
    self.renditions = renditions
  }
}

/// Format and bitrate of a stream's audio, which is AAC-LC.
public struct AudioSettings: Hashable, Sendable {
  /// Sample rate in Hz; nil for the source's where AAC supports it, otherwise 48,000.
  public var sampleRate: Int?
  /// Number of channels, 1 or 2; nil for the source's, at most 2.
  public var channelCount: Int?
  /// Bitrate in bits per second. AAC of a network source is passed through at its own bitrate where this is
  /// ``defaultBitrate``, and transcoded otherwise.
  public var bitrate: Int
  /// Time after the expected arrival of audio at which silence replaces it.
  package var timeout = MediaDuration.milliseconds(300)

  /// Default of ``bitrate``: 64 kb/s. With another bitrate, AAC of network sources is transcoded.
  public static let defaultBitrate = 64_000

  /// Creates settings; by default the source's format at 64 kb/s.
  public init(sampleRate: Int? = nil, channelCount: Int? = nil, bitrate: Int = AudioSettings.defaultBitrate) {
    self.sampleRate = sampleRate
    self.channelCount = channelCount
    self.bitrate = bitrate
  }

  /// The sample rates of AAC, ISO/IEC 14496-3 table 1.18.
  static let sampleRates = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
  ]

  /// Format in which audio of a source is encoded.
  func format(for source: AudioFormat) -> AudioFormat {
    AudioFormat(
      sampleRate: self.sampleRate ?? (Self.sampleRates.contains(source.sampleRate) ? source.sampleRate : 48_000),
      channelCount: self.channelCount ?? min(source.channelCount, 2))
  }
}

extension VideoSettings {
  /// Portrait video of a phone: 720 by 1280 pixels at 2.3 Mb/s. Goes with ``AudioSettings/portrait``.
  public static let portrait = VideoSettings(width: 720, height: 1280, bitrate: 2_300_000)
}

extension AudioSettings {
  /// One channel at 44.1 kHz and 64 kb/s. Goes with ``VideoSettings/portrait``.
  public static let portrait = AudioSettings(sampleRate: 44_100, channelCount: 1, bitrate: 64_000)
}

extension VideoSettings {
  /// Settings of the encoder of the stream's own rendition.
  ///
  /// - Parameters:
  ///   - format: Format of the frames, with even sides.
  ///   - bitrate: In bits per second.
  func encoderSettings(format: VideoFormat, bitrate: Int) -> VideoEncoderSettings {
    VideoEncoderSettings(
      width: format.width, height: format.height, frameRate: format.frameRate, colorMatrix: format.colorMatrix,
      bitrate: bitrate, keyframeInterval: self.keyframeInterval, encoder: self.encoder, profile: self.profile,
      rateBuffer: self.rateBuffer)
  }
}
