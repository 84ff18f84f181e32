/// Counters and gauges of a stream, for metrics.
public struct HLSStatistics: Hashable, Sendable {
  /// Whether the stream has viewers, so that samples are muxed.
  public var isActive = false
  /// Number of complete segments in the low-latency playlist.
  public var windowSegments = 0
  /// Bytes of all segments that can be fetched, including those that left the playlist.
  public var windowBytes = 0
  /// Number of segments completed since the start.
  public var segments = 0
  /// Number of parts (`EXT-X-PART`) completed since the start.
  public var parts = 0
  /// Number of times that a playlist request has activated the stream.
  public var activations = 0
  /// Number of dropped samples: before a keyframe, out of order, or skipped by a muxer, such as late audio; a sample that
  /// both muxers skip counts twice.
  public var droppedSamples = 0

  /// Creates counters at zero, those of an inactive stream.
  public init() {}
}
