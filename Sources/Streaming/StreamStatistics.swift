public import Capture
public import Effects
public import Media

/// What a stream has done since it started.
public struct StreamStatistics: Hashable, Sendable {
  /// Pictures that the source handed over.
  public var framesIn = 0
  /// Of these, pictures left out since the source is faster than the stream is to be: wanted, and no drops.
  public var framesThinned = 0
  /// Pictures that were to be shown and are not, by reason.
  public var framesDropped: [FrameDrop.Reason: Int] = [:]
  /// Encoders of pictures that are open: one while the stream runs, however many watch, and none while a source that
  /// compresses itself is passed through.
  public var videoEncoders = 0
  /// Encoders of sound that are open, likewise; one that rests while packets are passed through stays open.
  public var audioEncoders = 0
  /// Pictures encoded, slates included.
  public var framesEncoded = 0
  /// Compressed pictures of the source that were passed through.
  public var framesPassedThrough = 0
  /// Packets of the source's sound that were passed through.
  public var audioFramesPassedThrough = 0
  /// Keyframes among the pictures of both.
  public var keyframes = 0
  /// How often a viewer, a segment or a lost picture asked for a keyframe.
  public var keyframeRequests = 0
  /// Bytes of compressed pictures.
  public var videoBytes = 0
  /// Bytes of compressed sound.
  public var audioBytes = 0
  /// Blocks of sound that were handed over and not used.
  public var audioBlocksDropped = 0
  /// Samples of silence put in where the source had none.
  public var silentSamples = 0
  /// The time that the encoding of pictures took, what is done with the result left out.
  public var videoEncodeTime = MediaDuration.zero
  /// The time that the encoding of sound took, likewise.
  public var audioEncodeTime = MediaDuration.zero
  /// From the capture of the picture that was encoded last to the end of its encoding.
  public var videoDelay = MediaDuration.zero
  /// Pictures that wait for the pipeline: 0 or 1, and compressed ones up to two seconds.
  public var videoFramesQueued = 0
  /// Blocks of sound that wait for the pipeline.
  public var audioBlocksQueued = 0
  /// How much sound that is; at most a second and a block.
  public var audioQueued = MediaDuration.zero
  /// What each of ``LiveStream/effects`` has done since it came to them.
  public var effects: [EffectStatistics] = []
  /// Pictures that have gone through effects.
  public var framesWithEffects = 0
  /// The time that all effects took for these.
  public var effectTime = MediaDuration.zero
  /// Pictures that effects took out, as they were told to: no drops.
  public var framesDroppedByEffects = 0
  /// The faces in the picture, where effects look for them.
  public var faces = 0
  /// Whether viewers see the slate, since the source gives nothing.
  public var isSlateShown = false
  /// Whether viewers hear silence, since the source of the sound has ended or gave nothing for a second.
  public var isSoundMissing = false

  /// The time that effects took for a picture on average, in milliseconds; nil while there were none.
  public var effectMilliseconds: Double? {
    self.framesWithEffects == 0 ? nil : self.effectTime.seconds * 1000 / Double(self.framesWithEffects)
  }

  /// Pictures that viewers got.
  public var framesOut: Int { self.framesEncoded + self.framesPassedThrough }

  /// Pictures dropped for any reason.
  public var framesDroppedInAll: Int {
    self.framesDropped.values.reduce(0, +)
  }
}
