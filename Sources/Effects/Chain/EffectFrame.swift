public import Media

/// A frame in the hands of a ``VideoEffect``, with what is known of it.
public struct EffectFrame {
  /// The frame: I420, upright, to be drawn on. To replace it, another one of the same size is put here.
  public var buffer: PixelBuffer
  /// When it was captured.
  public let timestamp: MediaTime
  /// What travels with the frame to the outputs.
  public var metadata: FrameMetadata
  /// How the source said that the frame had to be turned; it has been turned already.
  public let sourceOrientation: Orientation
  /// The time that is left for this effect.
  public internal(set) var budget: MediaDuration

  /// A frame for a chain.
  ///
  /// - Parameters:
  ///   - buffer: I420, and not shared.
  ///   - budget: The time that all effects may take together.
  public init(
    buffer: PixelBuffer, timestamp: MediaTime, budget: MediaDuration, metadata: FrameMetadata = FrameMetadata(),
    sourceOrientation: Orientation = .up
  ) {
    precondition(buffer.format.pixelFormat == .i420, "effects process I420 frames")
    self.buffer = buffer
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
    try withExtendedLifetime(self.buffer) {
      try body(self.buffer.unsafePlane(index).bindMemory(to: UInt8.self))
    }
  }

  /// The same frame for those who only look.
  var viewed: VideoFrame { VideoFrame(buffer: self.buffer, timestamp: self.timestamp) }
}
