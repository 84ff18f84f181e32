internal import Media

/// Decisions of a stream's segmenter since the last ``HLSStream/takePlan()``, which its other renditions follow: the same segments
/// with the same numbers, times and target duration, and parts that join some of its parts.
public struct HLSPlan: Sendable {
  /// One decision.
  enum Step: Hashable, Sendable {
    case start(HLSSegmentStart)
    /// Ends a part.
    case part(end: MediaTime)
    /// Ends the segment.
    case end
  }

  var steps: [Step] = []
  var timing: HLSTiming

  /// Whether there is nothing to follow.
  public var isEmpty: Bool { self.steps.isEmpty }
}

/// Values that the segments of one number have in common in all renditions.
struct HLSSegmentStart: Hashable, Sendable {
  var number: Int
  var time: MediaTime
  var unixTime: MediaDuration
  var isDiscontinuous: Bool
  var discontinuities: Int
}

/// Position of another rendition of the stream, for `EXT-X-RENDITION-REPORT`, draft-pantos-hls-rfc8216bis §4.4.5.4.
struct HLSRenditionReport: Hashable, Sendable {
  /// Address of its low-latency playlist, relative to the playlist with the report.
  var uri: String
  /// Number of its last segment, which may be growing.
  var number: Int
  /// Index of the last part of that segment.
  var part: Int
}
