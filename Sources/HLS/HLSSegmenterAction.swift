internal import Media

/// What ``HLSSegmenter`` decides.
enum HLSSegmenterAction: Sendable {
  /// A segment starts at a time; a gap or other parameters may lie before it.
  case start(MediaTime, isDiscontinuous: Bool)
  /// The next part of the segment.
  case part(HLSPartSamples)
  /// The segment ends with the parts it has.
  case end
}

/// The samples of one part.
struct HLSPartSamples: Sendable {
  /// Sound and picture in order of time, each kind in its own order.
  var samples: [EncodedSample]
  /// What is told of moments of the part, in order of time.
  var metadata: [TimedMetadata] = []
  /// Where the part starts, a whole number of microseconds.
  var start: MediaTime
  /// Where the next one starts, a whole number of microseconds.
  var end: MediaTime

  /// Whether decoding can start in it.
  var isIndependent: Bool
}
