public import Media

/// What was made of a stream's single pictures since it started.
public struct PictureStatistics: Hashable, Sendable {
  /// Those who watch motion JPEG now.
  public var viewers = 0
  /// JPEG files made; each may have been sent to many.
  public var picturesEncoded = 0
  /// The time that took.
  public var encodeTime = MediaDuration.zero
}
