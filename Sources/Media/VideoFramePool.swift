import Synchronization

/// Bounded pool of frame buffers of one format. A buffer is reused once no frame references it, so a steady state
/// allocates nothing; buffers that only a burst needed are freed after 300 frames, those of the start after 120.
///
/// A capturer has one, and draws in its buffers on the thread that captures:
///
/// ```swift
/// let pool = VideoFramePool(format: format)
/// if let frame = pool.frame(at: time, draw: { buffer in … }) { consumer.consume(frame) }
/// ```
public final class VideoFramePool: Sendable {
  /// Format of every frame of the pool.
  public let format: VideoFormat
  /// Maximum number of frames in use at once.
  public let capacity: Int
  private let state = Mutex(State())

  private struct State {
    var buffers: [PixelBuffer] = []
    /// Frames since the last trim, and the minimum number of buffers that no frame referenced when one was requested.
    var requests = 0
    var minimumIdle = Int.max
    /// Number of trims, while the first frames count.
    var startTrims = 0
  }

  /// Number of frames after which buffers are freed that none of them needed.
  static let trimInterval = 300
  /// The same for each part of the first ``trimInterval`` frames: while encoder and viewers start, more frames are in use than later.
  static let startTrimInterval = 60

  /// Number of allocated buffers.
  var bufferCount: Int { self.state.withLock { $0.buffers.count } }

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
    self.state.withLock { state in
      var (first, idle) = (-1, 0)
      for index in state.buffers.indices where isKnownUniquelyReferenced(&state.buffers[index]) {
        if idle == 0 { first = index }
        idle += 1
      }
      Self.trim(&state, idle: idle, keeping: first)
      if idle > 0 { return state.buffers[first] }
      guard state.buffers.count < self.capacity else { return nil }
      let buffer = PixelBuffer(format: self.format)
      state.buffers.append(buffer)
      return buffer
    }
  }

  /// Frees buffers that no frame has needed for long; those up to `first` stay.
  private static func trim(_ state: inout State, idle: Int, keeping first: Int) {
    state.minimumIdle = min(state.minimumIdle, idle)
    state.requests += 1
    let isStart = state.startTrims * Self.startTrimInterval < Self.trimInterval
    guard state.requests == (isStart ? Self.startTrimInterval : Self.trimInterval) else { return }
    if isStart { state.startTrims += 1 }
    // One is requested now. A burst allocates what it needs, once in 300 frames at most.
    var surplus = state.minimumIdle - 1
    for index in state.buffers.indices.reversed() where surplus > 0 && index > first {
      guard isKnownUniquelyReferenced(&state.buffers[index]) else { continue }
      state.buffers.remove(at: index)
      surplus -= 1
    }
    (state.requests, state.minimumIdle) = (0, .max)
  }
}
