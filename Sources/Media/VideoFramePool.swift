import Synchronization

/// A bounded set of picture memories of one format that go round: a frame's memory is free again as soon as nobody
/// refers to it, and no memory is allocated once as many are in use as ever will be.
public final class VideoFramePool: Sendable {
  /// The format of every frame that comes from here.
  public let format: VideoFormat
  /// The most frames that can be in use at once.
  public let capacity: Int
  private let buffers = Mutex<[PixelBuffer]>([])

  /// A pool.
  ///
  /// - Parameters:
  ///   - format: The layout of its pictures.
  ///   - capacity: The most frames in use at once. The default covers the one being drawn, four in the inputQueue, the one
  ///     being encoded, the one shown while encoding pauses, and a spare one.
  public init(format: VideoFormat, capacity: Int = 8) {
    self.format = format
    self.capacity = capacity
  }

  /// A frame drawn by a closure, or nil when all of the pool's frames are in use: then whoever takes the frames is too
  /// slow, and this one is to be counted as dropped.
  ///
  /// - Parameters:
  ///   - timestamp: When the picture was captured.
  ///   - draw: Fills the picture, whose content is undefined before, through ``PixelBuffer/unsafePlane(_:)``.
  public func frame(at timestamp: MediaTime, draw: (PixelBuffer) throws -> Void) rethrows -> VideoFrame? {
    guard let buffer = self.takeBuffer() else { return nil }
    try draw(buffer)
    return VideoFrame(buffer: buffer, timestamp: timestamp)
  }

  /// A memory to which the pool holds the only reference, or a new one.
  private func takeBuffer() -> PixelBuffer? {
    self.buffers.withLock { buffers in
      for index in buffers.indices where isKnownUniquelyReferenced(&buffers[index]) {
        return buffers[index]
      }
      guard buffers.count < self.capacity else { return nil }
      let buffer = PixelBuffer(format: self.format)
      buffers.append(buffer)
      return buffer
    }
  }
}
