public import Capture

/// What a stream has done since it started.
public struct StreamStatistics: Hashable, Sendable {
  /// Pictures that the source handed over.
  public var framesIn = 0
  /// Pictures that were handed over and not used, by reason.
  public var framesDropped: [FrameDrop.Reason: Int] = [:]
  /// Pictures encoded, slates included.
  public var framesEncoded = 0
  /// Of these, keyframes.
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
  /// Whether viewers see the slate, since the source gives nothing.
  public var isSlateShown = false

  /// Pictures dropped for any reason.
  public var framesDroppedInAll: Int {
    self.framesDropped.values.reduce(0, +)
  }
}
