internal import Media

extension VideoSchedule {
  /// Maximum interval between the frames of a source that is waited for by its rhythm.
  static let maximumInterval = MediaDuration.seconds(15)
  /// Time by which samples may be older than the output to be passed through: after a stall many come at once.
  static let maximumAge = MediaDuration.milliseconds(500)
  /// Time by which frames and samples may be late to be shown in place of the slate: decoders have several in work, and audio may
  /// lead the video of a publisher.
  static let maximumDelay = MediaDuration.seconds(2)
  /// Minimum time between two timestamps that the stream assigns itself: containers can still distinguish them.
  static let minimumInterval = MediaDuration.milliseconds(1)
  /// Time for which a still source is encoded at the full frame rate for a new viewer: players probe the first frames, and
  /// ffmpeg waits for about twenty of them. Includes half a second until the requested keyframe.
  static let joiningTime = MediaDuration.milliseconds(1500)
  /// Time between two repetitions of the last frame of a still source after ``joiningTime``, unless its frames last longer: a
  /// player that waits for frames gets them, as from a screen.
  static let stillInterval = MediaDuration.milliseconds(500)
  /// Jitter tolerated before a frame is repeated in place of a late one.
  static let maximumJitter = MediaDuration.milliseconds(130)
  /// Time after a keyframe request by which a source that meets requests has sent one.
  static let keyframeTimeout = MediaDuration.seconds(1)
}

extension VideoSchedule {
  /// Whether a sample is to be decoded only, see ``isBehind(_:)``: it came in a burst after a stall, and later than what it would
  /// take the place of.
  func isOld(_ sample: SampleSummary, at now: MediaTime) -> Bool {
    guard self.isBehind(sample) else { return false }
    return !self.output.isSubstitute || now - self.presentationTime(of: sample) > Self.maximumDelay
  }

  /// Whether a sample of the same source is behind the output, in which the last frame was repeated, or the slate shown.
  func isBehind(_ sample: SampleSummary) -> Bool {
    guard let time = self.output.time, sample.source == self.timeline.source else { return false }
    return self.presentationTime(of: sample) + Self.maximumAge < time
  }

  /// The presentation time of a sample of the same source on the viewers' timeline.
  private func presentationTime(of sample: SampleSummary) -> MediaTime {
    self.timeline.offset?.applied(to: sample.presentationTime) ?? sample.presentationTime
  }
}
