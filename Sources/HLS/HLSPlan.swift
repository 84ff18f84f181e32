internal import Media

/// Decisions of a stream's segmenter since the last ``HLSStream/takePlan()``, which its other renditions follow: the same segments and
/// parts with the same numbers, times and target durations.
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

/// What a segment has in common with those of other renditions of its number.
struct HLSSegmentStart: Hashable, Sendable {
  var number: Int
  var time: MediaTime
  var unixTime: MediaDuration
  var isDiscontinuous: Bool
  var discontinuities: Int
}
