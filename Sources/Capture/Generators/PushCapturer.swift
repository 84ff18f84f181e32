internal import Libc
public import Media
public import Threading

/// Video that is pushed at any time and from any thread: from a socket, another library's callback, a renderer.
///
/// ```swift
/// let capturer = PushCapturer(VideoFormat(width: 640, height: 360, pixelFormat: .nv12))
/// stream.attachVideo(capturer)
/// …
/// capturer.push { frame in  // on any thread
///   frame.withPlane(0) { $0.withUnsafeMutableBytes { luma in … } }
/// }
/// ```
///
/// The stream dequeues the latest frame at its own frame rate; surplus frames are dropped and counted, and without frames
/// viewers see the slate. Calls of ``push(at:_:)``, ``push(_:)`` and ``finish(_:)`` from several threads wait for each
/// other.
public final class PushCapturer: VideoCapturer {
  private struct State {
    var consumer: (any VideoConsumer)?
    var count: Int64 = 0
    /// The thread that is calling the consumer; nil when none is.
    var delivering: pthread_t?

    /// Whether a thread other than the current one is calling the consumer.
    var isBusy: Bool {
      self.delivering.map { pthread_equal($0, pthread_self()) == 0 } ?? false
    }
  }

  /// Size, pixel layout and maximum frame rate of the pushed frames, as passed to the initializer.
  public let format: VideoFormat
  private let pool: VideoFramePool
  private let state = Monitor(State())

  /// Creates a capturer for frames of one format; frames of another layout are dropped by the stream.
  public init(_ format: VideoFormat) {
    self.format = format
    self.pool = VideoFramePool(format: format)
  }

  /// True from ``start(consumer:)`` until ``stop()``; only in between are pushed frames delivered.
  public var isStarted: Bool {
    self.state.read { $0.consumer != nil }
  }

  /// Starts passing frames to a consumer, on the threads that push them.
  public func start(consumer: any VideoConsumer) {
    self.state.withLock { $0.consumer = consumer }
  }

  /// Stops passing frames, and waits for a delivery in progress on another thread; the consumer may call it from within a
  /// callback.
  public func stop() {
    self.state.withLock { ($0.consumer, $0.count) = (nil, 0) }
    _ = self.state.wait { $0.isBusy ? nil : true }
  }

  /// Draws a frame into pooled memory and delivers it.
  ///
  /// - Parameters:
  ///   - time: Capture time on the ``StreamClock``, later than that of the frame before; by default now.
  ///   - draw: Fills the memory, whose content is undefined. Not called when the capturer is stopped or all pooled memory
  ///     is in use.
  /// - Returns: Whether the frame was delivered.
  @discardableResult
  public func push(
    at time: MediaTime = StreamClock.system.now(), _ draw: (borrowing DrawnFrame) throws -> Void
  ) rethrows -> Bool {
    guard let index = self.nextIndex() else { return false }
    let frame = try self.pool.frame(at: time) { try draw(DrawnFrame($0, index: index)) }
    let isDelivered = self.deliver { consumer in
      if let frame { consumer.consume(frame) } else { consumer.captureSkipped(at: time) }
    }
    return frame != nil && isDelivered
  }

  /// Delivers a frame in the caller's memory, without a copy.
  ///
  /// - Parameter frame: A frame of ``format``, later than the one before; the stream drops frames of another layout.
  /// - Returns: Whether the frame was delivered.
  @discardableResult
  public func push(_ frame: VideoFrame) -> Bool {
    guard self.nextIndex() != nil else { return false }
    return self.deliver { $0.consume(frame) }
  }

  /// Reports the end of the input to the stream, which then shows the slate.
  ///
  /// - Parameter error: The failure; nil at the regular end.
  public func finish(_ error: VidiconError? = nil) {
    self.deliver { $0.captureEnded(error) }
  }

  /// Calls the consumer once no other thread is doing so.
  ///
  /// - Returns: False when there is no consumer.
  @discardableResult
  private func deliver(_ body: (any VideoConsumer) -> Void) -> Bool {
    let delivery = self.state.take { state -> (consumer: any VideoConsumer, outer: pthread_t?)?? in
      if state.isBusy { return nil }
      guard let consumer = state.consumer else { return .some(nil) }
      // A consumer may push from within a callback.
      defer { state.delivering = pthread_self() }
      return (consumer, state.delivering)
    }
    guard let delivery = delivery ?? nil else { return false }
    body(delivery.consumer)
    self.state.withLock { $0.delivering = delivery.outer }
    return true
  }

  /// The number of the next frame since the start; nil when stopped.
  private func nextIndex() -> Int64? {
    self.state.withLock { state in
      guard state.consumer != nil else { return nil }
      defer { state.count += 1 }
      return state.count
    }
  }
}
