public import Media

/// A picture in the hands of a ``VideoEffect``, with what is known of it.
public struct EffectFrame {
  /// The picture: I420, upright, to be drawn on. To replace it, another one of the same size is put here.
  public var picture: PixelBuffer
  /// When it was captured.
  public let timestamp: MediaTime
  /// What travels with the picture to the outputs.
  public var metadata: FrameMetadata
  /// How the source said that the picture had to be turned; it has been turned already.
  public let sourceOrientation: Orientation
  /// The time that is left for this effect.
  public internal(set) var budget: MediaDuration

  /// A picture for a chain.
  ///
  /// - Parameters:
  ///   - picture: I420, and nobody else's.
  ///   - budget: The time that all effects may take together.
  public init(
    picture: PixelBuffer, timestamp: MediaTime, budget: MediaDuration, metadata: FrameMetadata = FrameMetadata(),
    sourceOrientation: Orientation = .up
  ) {
    precondition(picture.format.pixelFormat == .i420, "effects see I420 pictures")
    self.picture = picture
    self.timestamp = timestamp
    self.budget = budget
    self.metadata = metadata
    self.sourceOrientation = sourceOrientation
  }

  /// Gives the bytes of a plane to read and write.
  ///
  /// - Parameters:
  ///   - index: 0 is luma, 1 is Cb, 2 is Cr, the latter two of half the width and height, rounded up.
  ///   - body: Gets the plane's bytes, ``VideoFormat/bytesPerRow`` from row to row; they are not to be kept.
  public mutating func withPlane<Result>(
    _ index: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result {
    try withExtendedLifetime(self.picture) {
      try body(self.picture.unsafePlane(index).bindMemory(to: UInt8.self))
    }
  }

  /// The same picture for those who only look.
  var viewed: VideoFrame { VideoFrame(buffer: self.picture, timestamp: self.timestamp) }
}
