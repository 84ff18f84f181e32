public import Capture
public import Media
internal import Synchronization
internal import Threading

/// Captures a screen or window of X11.
///
/// A frame is captured when the screen has changed, at most at the frame rate; only rows that changed since the frame's
/// memory was last used are fetched. While nothing changes, the last frame is delivered again twice per second, by reference
/// and with a new timestamp, so that a still screen is not mistaken for a lost source.
///
/// The mouse pointer is drawn into the frames unless the specification excludes it. A window is captured even when others
/// cover it. When a window or screen is resized, ``VideoConsumer/captureFormatChanged(to:)`` precedes frames of the new size.
/// A window that is not mapped, which is how desktops hide minimized windows, cannot be captured:
/// ``VideoConsumer/captureEnded(_:)`` reports that, and frames follow when it is mapped again. A closed window ends the
/// capture. A lost X server is reported likewise and searched for at least once per second, except when a window is
/// captured, since another server assigns other window numbers.
///
/// A Wayland session only shows windows of X11 programs, through XWayland and by window number.
public final class ScreenCapturer: VideoCapturer {
  /// The selected screen or window, and the part of it to capture.
  public let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let currentFormat: Mutex<VideoFormat>
  private let thread = WorkerThread(name: "screen")
  private let cancellation = Mutex<ScreenCancellation?>(nil)

  /// Creates a capturer; the screen is looked up by ``start(consumer:)``.
  ///
  /// - Parameters:
  ///   - specification: The screen or window, and the part of it to capture.
  ///   - frameRate: Maximum frame rate, unless the specification has one.
  public init(_ specification: ScreenSpecification = ScreenSpecification(), frameRate: FrameRate = FrameRate(30)) {
    self.specification = specification
    self.frameRate = specification.frameRate ?? frameRate
    self.currentFormat = Mutex(
      VideoFormat(
        width: specification.region?.width ?? 1280, height: specification.region?.height ?? 720, pixelFormat: .bgra,
        frameRate: self.frameRate))
  }

  deinit {
    self.stop()
  }

  /// BGRA with the current size of the screen, window or region; an assumption before the first start, the last size after a
  /// stop.
  public var format: VideoFormat {
    self.currentFormat.withLock { $0 }
  }

  /// The display, with its window or region.
  public var sourceName: String? { self.specification.description }

  /// Whether the screen is captured, or searched for after it was lost.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Connects to the X server and starts capturing; blocks for up to five seconds.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no such X server, screen or window, or the
  ///   region lies outside, ``VidiconError/Code/notPermitted`` when the server rejects the user,
  ///   ``VidiconError/Code/invalidData`` when its pixel format is not supported.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    #if os(Linux)
    let cancellation = try ScreenCancellation(source: self.specification.description)
    let loop = ScreenCaptureLoop(
      self.specification, frameRate: self.frameRate, cancellation: cancellation, consumer: consumer,
      formatChanged: { [weak self] format in self?.currentFormat.withLock { $0 = format } })
    let session = try loop.open(timeout: .seconds(5))
    self.currentFormat.withLock { $0 = session.format }
    self.cancellation.withLock { $0 = cancellation }
    do throws(VidiconError) {
      try self.thread.start { _ in loop.run(session) }
    } catch {
      self.cancellation.withLock { $0 = nil }
      throw error
    }
    #else
    throw VidiconError(
      .notFound, subject: self.specification.description, cause: "screens are captured on Linux only, from X11",
      nextStep: "use another source")
    #endif
  }

  /// Stops capturing, also while the X server is searched for.
  public func stop() {
    self.cancellation.withLock { $0.take() }?.stop()
    self.thread.stop()
  }
}
