internal import Media

extension MediaTime {
  /// Maximum age of a timestamp; older ones are not on the stream's clock, unless the stream waits longer. Of a source that reports its loss, and so may stall for as
  /// long as its connection lives, ``oldestOfConnections``.
  private static let oldest = MediaDuration.seconds(10)
  private static let oldestOfConnections = MediaDuration.seconds(300)
  /// Maximum time by which a timestamp may be ahead; later ones are not on the stream's clock.
  private static let newest = MediaDuration.milliseconds(100)

  /// The timestamp of a frame that arrives now; `now` when it cannot be on the stream's clock.
  ///
  /// - Parameter timeout: Time for which the stream waits for it.
  func checked(at now: MediaTime, reportsLoss: Bool = false, timeout: MediaDuration = .zero) -> MediaTime {
    let oldest = reportsLoss ? Self.oldestOfConnections : max(Self.oldest, timeout)
    return now - self > oldest || self - now > Self.newest ? now : self
  }
}
