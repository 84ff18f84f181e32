public import Capture
public import Media
internal import Synchronization
internal import Threading

/// The pictures of a screen or a window of X11.
///
/// A picture is taken when something on it has changed, at most at the frame rate; only the rows that changed since its
/// memory was last used are fetched. While nothing changes, the last picture is handed over again twice a second, by
/// reference and with a fresh timestamp, so that a still screen is not taken for a lost one.
///
/// The mouse pointer is drawn into the picture unless the specification says otherwise. A window is captured whether or
/// not others cover it, also while it is moved; when it is resized, as when the screen is, frames of another size follow
/// ``VideoConsumer/captureFormatChanged(to:)``. While a window is not on the screen at all, which is how desktops hide
/// those that are minimised, there is no picture of it: ``VideoConsumer/captureEnded(_:)`` says so, and frames follow
/// when it is back. A window that was closed is an end for good. When the X server goes away, that is told in the same
/// way, and at least each second it is looked for again; but not for a window, since another server numbers them anew.
///
/// Only X11 is captured, so of a Wayland session no more than what XWayland shows: windows of X11 programs, by number.
public final class ScreenCapturer: VideoCapturer {
  /// What is captured.
  public let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let current: Mutex<VideoFormat>
  private let thread = WorkerThread(name: "screen")
  private let control = Mutex<ScreenControl?>(nil)

  /// A capturer that is not started: the screen is first looked for by ``start(consumer:)``.
  ///
  /// - Parameters:
  ///   - specification: Which screen or window, and which part of it.
  ///   - frameRate: The most pictures a second, where the specification does not tell.
  public init(_ specification: ScreenSpecification = ScreenSpecification(), frameRate: FrameRate = FrameRate(30)) {
    self.specification = specification
    self.frameRate = specification.frameRate ?? frameRate
    self.current = Mutex(
      VideoFormat(
        width: specification.region?.width ?? 1280, height: specification.region?.height ?? 720, pixelFormat: .bgra,
        frameRate: self.frameRate))
  }

  deinit {
    self.stop()
  }

  /// BGRA of the size that the screen, window or region has now; its last one after a stop, a guess before the first
  /// start.
  public var format: VideoFormat {
    self.current.withLock { $0 }
  }

  /// Whether the screen is being captured, or looked for again.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Connects to the X server, which takes at most five seconds, and begins to deliver.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no such X server, screen or window, or the
  ///   region lies outside, ``VidiconError/Code/notPermitted`` when the server refuses the user,
  ///   ``VidiconError/Code/invalidData`` when its pixels are of a kind that cannot be read.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    #if os(Linux)
    let control = try ScreenControl(source: self.specification.description)
    let playback = ScreenPlayback(
      self.specification, frameRate: self.frameRate, control: control, consumer: consumer,
      formatChanged: { [weak self] format in self?.current.withLock { $0 = format } })
    let session = try playback.open(within: .seconds(5))
    self.current.withLock { $0 = session.format }
    self.control.withLock { $0 = control }
    do throws(VidiconError) {
      try self.thread.start { _ in playback.play(session) }
    } catch {
      self.control.withLock { $0 = nil }
      throw error
    }
    #else
    throw VidiconError(
      .notFound, subject: self.specification.description, cause: "screens are captured on Linux only, from X11",
      nextStep: "use another source")
    #endif
  }

  /// Ends it, also in the middle of a search for the X server.
  public func stop() {
    self.control.withLock { $0.take() }?.stop()
    self.thread.stop()
  }
}
