internal import Media

/// Actions that the owner of an ``HLSStream`` performs after a call.
public struct HLSEffects: Hashable, Sendable {
  /// Whether to request a keyframe from the encoder.
  public var requestsKeyframe: Bool
  /// Whether to repeat all waiting requests.
  public var wakesRequests: Bool

  /// Creates a set of actions; none by default.
  public init(requestsKeyframe: Bool = false, wakesRequests: Bool = false) {
    self.requestsKeyframe = requestsKeyframe
    self.wakesRequests = wakesRequests
  }

  /// No action: neither flag is set.
  public static let none = HLSEffects(requestsKeyframe: false)
}

/// Decision of ``HLSSegmenter``.
enum HLSSegmenterAction: Sendable {
  /// Starts a segment at a time; it is discontinuous after a gap or a change of parameters.
  case start(MediaTime, isDiscontinuous: Bool)
  /// Appends a part to the segment.
  case part(HLSPartSamples)
  /// Ends the segment.
  case end
}

/// The samples of one part.
struct HLSPartSamples: Sendable {
  /// Audio and video interleaved by decoding time.
  var samples: [EncodedSample]
  /// Timed metadata of the part, in order of time.
  var metadata: [TimedMetadata] = []
  /// Start of the part, in whole microseconds.
  var start: MediaTime
  /// Start of the next part, in whole microseconds.
  var end: MediaTime

  /// Whether decoding can start in the part.
  var isIndependent: Bool
}
