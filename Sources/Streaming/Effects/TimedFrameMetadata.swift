public import Effects
public import Media

/// Metadata that effects have attached to a frame.
public struct TimedFrameMetadata: Hashable, Sendable {
  /// Capture time of the frame: the presentation time of its sample.
  public let timestamp: MediaTime
  /// Width of the frame in pixels, in which positions and sizes are given.
  public let width: Int
  /// Height of the frame in pixels.
  public let height: Int
  /// Faces and face events of the frame.
  public let metadata: FrameMetadata

  /// Combines metadata with the timestamp and size of its frame.
  public init(timestamp: MediaTime, width: Int, height: Int, metadata: FrameMetadata) {
    (self.timestamp, self.width, self.height, self.metadata) = (timestamp, width, height, metadata)
  }
}
