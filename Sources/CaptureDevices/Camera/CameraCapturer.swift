public import Capture
public import Media
internal import Synchronization
internal import Threading

/// The pictures of a camera, through video4linux.
///
/// Pictures that the rest of Vidicon understands are handed on in the camera's own memory; others are converted, JPEG is
/// decoded on a thread of its own, and those of an H.264 camera are handed on as they are, to
/// ``VideoConsumer/consume(_:of:)``. Timestamps are the camera's, where it tells them by the streams' clock.
///
/// When the camera is unplugged, that is ``VideoConsumer/captureEnded(_:)`` with the error; it is found again when it is
/// plugged in, at another node too, its controls are set as they were, and pictures come again.
public final class CameraCapturer: ControllableCapturer {
  /// The longest that ``stop()`` waits for a device that does not answer.
  private static let longestStop = MediaDuration.milliseconds(800)

  let request: CameraRequest
  let state: CameraState
  private let thread = WorkerThread(name: "camera")
  private let wake = Mutex<WakePipe?>(nil)

  /// A camera that is not opened yet.
  ///
  /// - Parameters:
  ///   - specification: Which one, and what its user asks for.
  ///   - width: Pixels across that the stream would like; the nearest size that is not smaller is chosen.
  ///   - height: Pixels down that the stream would like.
  ///   - frameRate: Pictures a second that the stream would like; the highest rate that is not above is chosen.
  public init(
    _ specification: CameraSpecification = CameraSpecification(), width: Int = 1280, height: Int = 720,
    frameRate: FrameRate = FrameRate(30)
  ) {
    self.request = CameraRequest(
      specification: specification, width: width, height: height, frameRate: frameRate)
    let size = self.request.size
    self.state = CameraState(
      format: VideoFormat(
        width: size.width, height: size.height, frameRate: specification.frameRate ?? frameRate))
  }

  deinit {
    self.stop()
  }

  /// What the frames look like; before it was started, what is wished for.
  public var format: VideoFormat {
    self.state.withLock { $0.format }
  }

  /// Where it looks; known once it was started.
  public var position: CameraPosition {
    self.state.withLock { $0.position }
  }

  /// How the pictures of an H.264 camera are to be turned: as its sensor is mounted. Known once it was started.
  public var sampleOrientation: Orientation {
    self.state.withLock { $0.orientation }
  }

  /// Whether it takes pictures, or looks for its camera.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Opens the camera, chooses a format, and begins to take pictures.
  ///
  /// - Throws: ``VidiconError`` when there is no such camera, it may not be opened, another program has it, or it offers
  ///   nothing that is understood.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    let wake = try WakePipe(source: self.request.source)
    let session = try CameraSession.open(
      self.request, paths: CameraFinder.paths(for: self.request.specification), wake: wake)
    self.state.withLock { state in
      state.format = session.format
      state.position = session.device.position
      state.orientation = session.orientation
      state.isKeyframeWanted = false
      state.device = session.device
    }
    let playback = CameraPlayback(
      self.request, device: session.device, state: self.state, wake: wake, consumer: consumer)
    let first = TransferBox(session)
    self.wake.withLock { $0 = wake }
    do throws(VidiconError) {
      try self.thread.start { _ in playback.play(first) }
    } catch {
      self.wake.withLock { $0 = nil }
      self.state.withLock { $0.device = nil }
      throw error
    }
  }

  /// Ends it within a second, whatever the device does.
  public func stop() {
    self.wake.withLock { $0.take() }?.stop()
    self.thread.stop(within: Self.longestStop)
    self.state.withLock { $0.device = nil }
  }

  /// Has an H.264 camera make its next picture a keyframe; done by its own thread, since a device may take its time.
  public func requestKeyframe() {
    self.state.withLock { $0.isKeyframeWanted = true }
    self.wake.withLock { $0 }?.wake()
  }

  /// What can be set, as it is now; empty when the camera is not there.
  public var controls: [DeviceControl] {
    (try? self.openDevice())?.controls.map(\.control) ?? []
  }

  /// Sets a control, also while pictures are taken.
  public func setControl(_ name: String, to value: Int) throws(VidiconError) {
    try self.openDevice().setControl(name, to: value, source: self.request.source)
    self.state.withLock { state in
      state.settings.removeAll { $0.name == name }
      state.settings.append((name, value))
    }
  }

  /// The device that takes pictures; else the first one of the specification that opens.
  private func openDevice() throws(VidiconError) -> V4L2Device {
    if let device = self.state.withLock({ $0.device }) { return device }
    let paths = try CameraFinder.paths(for: self.request.specification)
    var first: VidiconError?
    for path in paths {
      do throws(VidiconError) {
        return try V4L2Device(path: path, source: self.request.source)
      } catch {
        if error.code != .notFound || paths.count == 1 { first = first ?? error }
      }
    }
    throw first ?? .noCamera(source: self.request.source)
  }
}
