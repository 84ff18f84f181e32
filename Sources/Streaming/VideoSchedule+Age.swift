internal import Media

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
