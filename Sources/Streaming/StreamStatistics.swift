public import Capture
public import Effects
public import Media

/// Counters of a stream since its start, and gauges of its queues and sources.
public struct StreamStatistics: Hashable, Sendable {
  /// Frames and access units delivered by the sources, skipped and dropped ones included.
  public var framesIn = 0
  /// Frames skipped because the source is faster than the stream's frame rate; not counted as dropped.
  public var framesThinned = 0
  /// Dropped frames and access units by reason; those of `noMemory` were never delivered, nor counted in ``framesIn``.
  public var framesDropped: [FrameDrop.Reason: Int] = [:]
  /// Open video encoders: 1 while the stream runs, whatever the number of viewers; 0 while a source is passed through.
  public var videoEncoders = 0
  /// Open audio encoders; the encoder stays open while packets are passed through.
  public var audioEncoders = 0
  /// Access units output by the encoder: frames, repeated frames and slates.
  public var framesEncoded = 0
  /// Access units of the source that were passed through.
  public var framesPassedThrough = 0
  /// Audio packets of the source that were passed through.
  public var audioFramesPassedThrough = 0
  /// Keyframes that were output, encoded and passed through.
  public var keyframes = 0
  /// Keyframe requests of viewers, segmenters and packet loss; one keyframe may meet several.
  public var keyframeRequests = 0
  /// Bytes of the access units that were output, encoded and passed through, whatever the number of viewers.
  public var videoBytes = 0
  /// Bytes of the AAC frames that were output, encoded and passed through, whatever the number of viewers.
  public var audioBytes = 0
  /// Audio blocks dropped because audio was queued for a second, or because their source had been replaced.
  public var audioBlocksDropped = 0
  /// Samples of silence inserted for missing audio.
  public var silentSamples = 0
  /// Time spent encoding video, outputs excluded.
  public var videoEncodeTime = MediaDuration.zero
  /// Time spent encoding audio, outputs excluded.
  public var audioEncodeTime = MediaDuration.zero
  /// Latency of the last encoded frame, from capture to the end of its encoding.
  public var videoLatency = MediaDuration.zero
  /// Queued frames: normally 0 or 1, at most 4; of a compressed source at most two seconds of access units.
  public var videoFramesQueued = 0
  /// Audio blocks queued now; ``audioQueued`` is their duration.
  public var audioBlocksQueued = 0
  /// Duration of the queued audio; at most one second and a block.
  public var audioQueued = MediaDuration.zero
  /// Counters of each of ``LiveStream/effects`` since it was added.
  public var effects: [EffectStatistics] = []
  /// Frames passed to the effects, including those that effects dropped or held back.
  public var framesWithEffects = 0
  /// Time spent in all effects for ``framesWithEffects`` together.
  public var effectTime = MediaDuration.zero
  /// Frames that effects dropped as requested; not counted in ``framesDropped``.
  public var framesDroppedByEffects = 0
  /// Faces in the last frame, where an effect detects them.
  public var faces = 0
  /// Whether the slate is shown because the source delivers nothing.
  public var isSlateShown = false
  /// Whether the video source is connected, and nothing has come at which decoding can start.
  public var isSourceWaiting = false
  /// Whether silence is sent because the audio source has ended or delivered nothing for a second.
  public var isAudioMissing = false

  /// Average time of effects per frame, in milliseconds; nil without any frame.
  public var effectMilliseconds: Double? {
    self.framesWithEffects == 0 ? nil : self.effectTime.seconds * 1000 / Double(self.framesWithEffects)
  }

  /// Frames that the current effects had covered as a whole: privacy, where faces cannot be found.
  public var framesCovered: Int { self.effects.reduce(0) { $0 + $1.covers } }

  /// Times that the search for faces of the current effects missed its deadline or failed, and was started again.
  public var faceDetectionRestarts: Int {
    self.effects.reduce(0) { $0 + $1.detectionStalls + $1.detectionFailures }
  }

  /// Counters of the main rendition, which has no starts and no users of its own.
  var main: RenditionStatistics {
    var statistics = RenditionStatistics()
    statistics.isRunning = self.videoEncoders > 0
    statistics.framesEncoded = self.framesEncoded
    statistics.framesDropped = self.totalFramesDropped
    statistics.keyframes = self.keyframes
    statistics.bytes = self.videoBytes
    statistics.encodeTime = self.videoEncodeTime
    return statistics
  }

  /// Frames encoded, and access units passed through.
  public var framesOut: Int { self.framesEncoded + self.framesPassedThrough }

  /// Dropped frames and access units of all reasons, the sum of ``framesDropped``.
  public var totalFramesDropped: Int {
    self.framesDropped.values.reduce(0, +)
  }
}
