internal import Media

/// Bitrate up to which a viewer's path is probed: that of its media, that of its next rendition, and from time to time one at
/// which frames need not be spread over time.
struct WebRTCDemand: Sendable {
  /// Factor of the media's bitrate from which its frames are sent at once: such a path holds a keyframe.
  static let immediateFactor = 4
  /// Factor that is probed for, since a measurement loses some.
  private static let surveyedFactor = 4.5
  /// Time between two probes for more than is wanted.
  private static let surveyInterval = MediaDuration.seconds(30)
  /// Time in which such a probe, and the next at twice its bitrate, must have ended.
  private static let surveyTime = MediaDuration.milliseconds(2500)

  /// Bits per second of the media.
  var media = 2_500_000
  /// Bits per second that the caller has a use for.
  var wanted = 3_400_000
  /// Start of the last probe beyond ``wanted``. In place of the first one, the time at which the estimate reached ``wanted``,
  /// less ``surveyTime``; nil before.
  private var surveyed: MediaTime?

  /// Whether frames need not be spread.
  func isImmediate(estimate: Int) -> Bool { estimate >= self.media * Self.immediateFactor }

  /// Bits per second to probe for.
  mutating func bitrate(estimate: Int, at now: MediaTime) -> Int {
    guard estimate >= self.wanted, !self.isImmediate(estimate: estimate) else { return self.wanted }
    guard let surveyed else {
      // The cause of the lower estimate may not be over.
      self.surveyed = now - Self.surveyTime
      return self.wanted
    }
    if now - surveyed >= Self.surveyInterval {
      self.surveyed = now
    } else if now - surveyed >= Self.surveyTime {
      return self.wanted
    }
    return max(self.wanted, Int(Double(self.media) * Self.surveyedFactor))
  }
}
