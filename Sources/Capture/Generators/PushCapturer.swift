public import Media
internal import Synchronization

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
  }

  /// The format of each picture.
  public let format: VideoFormat
  private let pool: VideoFramePool
  // The lock is held while a picture is handed over, which makes stop() wait for it.
  private let state = Mutex(State())

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

  /// Lets no picture through any more.
  public func stop() {
    self.state.withLock { $0 = State() }
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
    return self.state.withLock { state in
      if let frame { state.consumer?.consume(frame) } else { state.consumer?.captureSkipped(at: time) }
      return frame != nil && state.consumer != nil
    }
  }

  /// Hands over a picture in memory of somebody else's; pictures come in order of time.
  ///
  /// - Parameter frame: Of the capturer's format; one of another layout is dropped.
  /// - Returns: Whether it was handed over.
  @discardableResult
  public func push(_ frame: VideoFrame) -> Bool {
    self.state.withLock { state in
      guard let consumer = state.consumer else { return false }
      state.count += 1
      consumer.consume(frame)
      return true
    }
  }

  /// Tells that no more pictures will come until the capturer is started again.
  ///
  /// - Parameter error: Why; nil at the end of what there was.
  public func finish(_ error: CaptureError? = nil) {
    self.state.withLock { $0.consumer }?.captureEnded(error)
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
