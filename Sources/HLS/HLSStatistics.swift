/// What a stream has done and holds, for metrics.
public struct HLSStatistics: Hashable, Sendable {
  /// Whether somebody watches, so that samples are muxed.
  public var isActive = false
  /// Whole segments in the window of the low-latency playlist.
  public var windowSegments = 0
  /// Bytes of all that can be fetched, those that have left the window included.
  public var windowBytes = 0
  /// Whole segments made since the start.
  public var segments = 0
  /// Parts made since the start.
  public var parts = 0
  /// How often the stream went from rest to work.
  public var activations = 0
  /// Samples that could not be used: those that wait for a keyframe, those out of order, and those that one of the two
  /// muxers leaves out, such as sound too late for its clock; counted for each of them.
  public var droppedSamples = 0

  /// Nothing done yet.
  public init() {}
}
