internal import Media

extension MediaTime {
  /// Timestamps older than this are not on the streams' clock.
  private static let oldest = MediaDuration.seconds(10)
  /// Capturers hand over what was captured; more than this ahead, a timestamp is not on the streams' clock.
  private static let newest = MediaDuration.milliseconds(100)

  /// The timestamp of something that a capturer hands over now; the present, when it cannot be on the streams' clock.
  func checked(at now: MediaTime) -> MediaTime {
    now - self > Self.oldest || self - now > Self.newest ? now : self
  }
}
