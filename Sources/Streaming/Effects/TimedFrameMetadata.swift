public import Effects
public import Media

/// Metadata that effects have attached to a frame.
public struct TimedFrameMetadata: Hashable, Sendable {
  /// Capture time of the frame: the presentation time of its sample.
  public let timestamp: MediaTime
  /// Width of the frame in pixels, in which positions and sizes are given.
  public let width: Int
  /// Height in pixels.
  public let height: Int
  /// The metadata.
  public let metadata: FrameMetadata

  /// Metadata of a frame.
  public init(timestamp: MediaTime, width: Int, height: Int, metadata: FrameMetadata) {
    (self.timestamp, self.width, self.height, self.metadata) = (timestamp, width, height, metadata)
  }
}
