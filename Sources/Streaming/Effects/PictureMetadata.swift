public import Effects
public import Media

/// What effects have found out about a picture that viewers get.
public struct PictureMetadata: Hashable, Sendable {
  /// When the picture was captured: the presentation time of its sample.
  public let timestamp: MediaTime
  /// Pixels across of the picture, in which places and sizes are told.
  public let width: Int
  /// Pixels down.
  public let height: Int
  /// What was found out.
  public let metadata: FrameMetadata

  /// What was found out about a picture.
  public init(timestamp: MediaTime, width: Int, height: Int, metadata: FrameMetadata) {
    (self.timestamp, self.width, self.height, self.metadata) = (timestamp, width, height, metadata)
  }
}
