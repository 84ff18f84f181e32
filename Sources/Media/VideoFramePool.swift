import Synchronization

/// Bounded pool of frame buffers of one format. A buffer is reused once no frame references it, so a steady state
/// allocates nothing.
public final class VideoFramePool: Sendable {
  /// Format of every frame of the pool.
  public let format: VideoFormat
  /// Maximum number of frames in use at once.
  public let capacity: Int
  private let buffers = Mutex<[PixelBuffer]>([])

  /// Creates an empty pool; buffers are allocated on demand.
  ///
  /// - Parameters:
  ///   - format: Format of the frames.
  ///   - capacity: Maximum number of frames in use. The default is 1 being drawn + 4 in the input queue + 1 being encoded +
  ///     1 repeated while encoding is paused + 1 spare.
  public init(format: VideoFormat, capacity: Int = 8) {
    self.format = format
    self.capacity = capacity
  }

  /// Returns a frame drawn by a closure, or nil when all frames are in use because the consumer is too slow. The caller
  /// counts nil as a dropped frame.
  ///
  /// - Parameters:
  ///   - timestamp: Capture time, on the streams' clock.
  ///   - draw: Fills every plane through ``PixelBuffer/unsafePlane(_:)``; the content is undefined before.
  public func frame(at timestamp: MediaTime, draw: (PixelBuffer) throws -> Void) rethrows -> VideoFrame? {
    guard let buffer = self.dequeueBuffer() else { return nil }
    try draw(buffer)
    return VideoFrame(buffer: buffer, timestamp: timestamp)
  }

  /// A buffer that only the pool references, or a new one below the capacity.
  private func dequeueBuffer() -> PixelBuffer? {
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
