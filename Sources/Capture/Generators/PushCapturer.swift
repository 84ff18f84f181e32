public import Media
public import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Pictures that arrive from elsewhere, whenever they do: from a socket, another library's callback, a renderer.
///
/// ```swift
/// let pictures = PushCapturer(VideoFormat(width: 640, height: 360, pixelFormat: .nv12))
/// stream.attachVideo(pictures)
/// …
/// pictures.push { frame in  // on any thread
///   frame.withPlane(0) { $0.withUnsafeMutableBytes { luma in … } }
/// }
/// ```
///
/// The stream takes the latest picture at its own pace; what comes faster is dropped and counted, and when nothing comes
/// viewers see the slate.
public final class PushCapturer: VideoCapturer {
  private struct State {
    var consumer: (any VideoConsumer)?
    var count: Int64 = 0
    /// The thread that hands something to the consumer just now.
    var delivering: pthread_t?

    /// Whether another thread than this one does.
    var isTaken: Bool {
      self.delivering.map { pthread_equal($0, pthread_self()) == 0 } ?? false
    }
  }

  /// The format of each picture.
  public let format: VideoFormat
  private let pool: VideoFramePool
  private let state = Monitor(State())

  /// A source of pictures of a format, of which none has come yet.
  public init(_ format: VideoFormat) {
    self.format = format
    self.pool = VideoFramePool(format: format)
  }

  /// Whether somebody takes the pictures.
  public var isStarted: Bool {
    self.state.withLock { $0.consumer != nil }
  }

  /// Lets pictures through from now on.
  public func start(consumer: any VideoConsumer) {
    self.state.withLock { $0.consumer = consumer }
  }

  /// Lets no picture through any more. It waits for one that another thread is just handing over; the consumer may call it
  /// while it takes one.
  public func stop() {
    self.state.withLock { ($0.consumer, $0.count) = (nil, 0) }
    _ = self.state.wait { $0.isTaken ? nil : true }
  }

  /// Draws a picture into memory of the capturer's and hands it over; pictures come in order of time.
  ///
  /// - Parameters:
  ///   - time: When it was captured, on the streams' clock: by default now.
  ///   - draw: Fills the memory, whose content is undefined. Not called when nobody takes the picture, or when all memory
  ///     is in use.
  /// - Returns: Whether it was handed over.
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

  /// Hands over a picture in memory of somebody else's; pictures come in order of time.
  ///
  /// - Parameter frame: Of the capturer's format; one of another layout is dropped.
  /// - Returns: Whether it was handed over.
  @discardableResult
  public func push(_ frame: VideoFrame) -> Bool {
    guard self.nextIndex() != nil else { return false }
    return self.deliver { $0.consume(frame) }
  }

  /// Tells that no more pictures will come until the capturer is started again.
  ///
  /// - Parameter error: Why; nil at the end of what there was.
  public func finish(_ error: VidiconError? = nil) {
    self.deliver { $0.captureEnded(error) }
  }

  /// Hands something over when no other thread does.
  ///
  /// - Returns: Whether there is a consumer.
  @discardableResult
  private func deliver(_ body: (any VideoConsumer) -> Void) -> Bool {
    let turn = self.state.take { state -> (consumer: any VideoConsumer, outer: pthread_t?)?? in
      if state.isTaken { return nil }
      guard let consumer = state.consumer else { return .some(nil) }
      // A consumer may push while it takes a picture.
      defer { state.delivering = pthread_self() }
      return (consumer, state.delivering)
    }
    guard let turn = turn ?? nil else { return false }
    body(turn.consumer)
    self.state.withLock { $0.delivering = turn.outer }
    return true
  }

  /// The number of the next picture since the start; nil when nobody takes it.
  private func nextIndex() -> Int64? {
    self.state.withLock { state in
      guard state.consumer != nil else { return nil }
      defer { state.count += 1 }
      return state.count
    }
  }
}
