internal import Bitstreams
internal import Media

/// Facts about an uncompressed frame that ``VideoSchedule`` decides on.
struct FrameSummary {
  /// Capture time on the stream's clock, see ``MediaTime/checked(at:)``.
  var timestamp: MediaTime
  var source: VideoSchedule.SourceID
  /// See ``VideoCapturer/reportsLoss``.
  var reportsLoss = false
}

/// Facts about an access unit that ``VideoSchedule`` decides on.
struct SampleSummary {
  /// On the stream's clock, see ``MediaTime/checked(at:)``.
  var decodeTime: MediaTime
  /// On the stream's clock.
  var presentationTime: MediaTime
  var isKeyframe: Bool
  /// Whether decoding can begin with the access units since the last keyframe, or goes on.
  var isDecodable = true
  var description: CodecDescription
  var source: VideoSchedule.SourceID
  /// See ``VideoCapturer/reportsLoss``.
  var reportsLoss = false
  /// Orientation of the decoded frames.
  var orientation = Orientation.up
  /// The owner's rotation and mirroring of this source.
  var adjustment = SourceAdjustment()
  /// Whether the stream has effects.
  var hasEffects = false
  /// Requested bitrate of the stream's video, in bits per second.
  var bitrate = VideoSettings.defaultBitrate
  /// Number of samples of the source that wait behind this one.
  var backlog = 0

  /// Whether samples of its configuration are encoded again, whatever the settings, as far as this one shows it: presentation order
  /// differs from decode order, by its times or `max_num_reorder_frames` of its sequence parameter set, or pixels are not
  /// square, which some players do not see (ITU-T H.264 §E.2.1).
  var needsEncoder: Bool {
    if self.presentationTime - self.decodeTime >= .milliseconds(1) { return true }
    guard self.isKeyframe, case .h264(let description) = self.description,
      let parameters = try? H264SequenceParameterSet(parsing: description.sequenceParameterSet)
    else { return false }
    let pixel = parameters.vui?.sampleAspectRatio
    return parameters.vui?.reorderFrames ?? 0 > 0 || pixel.map { $0.width != $0.height } ?? false
  }
}

/// Decides whether a source's access units can be output as they are.
struct PassThroughRule {
  /// Maximum frame rate of the stream; `nil` for any.
  var maximumFrameRate: FrameRate?
  /// Whether every frame is encoded: a specific encoder, or none to be passed through, was requested.
  var requiresEncoder = false
  /// Maximum decode time between two keyframes, when viewers wait for one; `nil` for any.
  var maximumKeyframeInterval: MediaDuration?
  /// Whether only the first source is passed through, and until a switch to another one.
  var isLimitedToFirstSource = false

  /// Maximum time between keyframes in ``VideoSettings/PassThrough/auto``. A viewer waits for a keyframe, and segments of HLS
  /// last from one to another: three of them are in the first playlist.
  static let maximumAutomaticInterval = MediaDuration.seconds(4)

  init(_ settings: VideoSettings) {
    self.maximumFrameRate = settings.frameRate
    self.requiresEncoder =
      settings.encoder != VideoSettings().encoder || settings.passThrough == .off || settings.profile != nil
    guard settings.passThrough == .auto else { return }
    self.maximumKeyframeInterval = Self.maximumAutomaticInterval
    self.isLimitedToFirstSource = true
  }

  /// Whether nothing is to be done to the sample: H.264 of the output's size, upright, without effects, at the default
  /// bitrate.
  func allows(_ sample: SampleSummary, in format: VideoFormat) -> Bool {
    guard case .h264(let description) = sample.description else { return false }
    return description.width == format.width && description.height == format.height
      && (self.maximumFrameRate.map { $0 >= description.frameRate } ?? true) && !self.requiresEncoder
      && sample.bitrate == VideoSettings.defaultBitrate && sample.orientation == .up
      && sample.adjustment.rotation == .up
      && !sample.adjustment.isMirrored && !sample.hasEffects
  }
}
