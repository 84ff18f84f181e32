internal import Media

extension MediaTime {
  /// Maximum age of a timestamp; older ones are not on the stream's clock.
  private static let oldest = MediaDuration.seconds(10)
  /// Maximum time by which a timestamp may be ahead; later ones are not on the stream's clock.
  private static let newest = MediaDuration.milliseconds(100)

  /// The timestamp of a frame that arrives now; `now` when it cannot be on the stream's clock.
  func checked(at now: MediaTime) -> MediaTime {
    now - self > Self.oldest || self - now > Self.newest ? now : self
  }
}
