public import Capture
public import Media
internal import Synchronization
internal import Threading

/// Captures a camera through Video4Linux.
///
/// Frames in a pixel format that `Media` supports are delivered in the driver's memory without a copy; other formats are
/// converted, JPEG is decoded on a thread of its own, and H.264 access units are delivered through
/// ``VideoConsumer/consume(_:of:)``. Timestamps are the driver's where these are on the ``StreamClock``.
///
/// A disconnected camera is reported by ``VideoConsumer/captureEnded(_:)`` with the error and searched for, also at other
/// nodes; when it is back, its controls are restored and frames follow.
public final class CameraCapturer: ControllableCapturer {
  /// Maximum time that ``stop()`` waits for a device that does not respond.
  private static let stopTimeout = MediaDuration.milliseconds(800)

  let request: CameraRequest
  let state: CameraState
  private let thread = WorkerThread(name: "camera")
  private let wake = Mutex<WakePipe?>(nil)

  /// Creates a capturer; the camera is opened by ``start(consumer:)``.
  ///
  /// - Parameters:
  ///   - specification: The camera and the user's options, which take precedence.
  ///   - width: Requested width in pixels; the smallest size that is at least this large is chosen.
  ///   - height: Requested height in pixels.
  ///   - frameRate: Requested frame rate; the highest rate that does not exceed it is chosen.
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

  /// The format of the frames; before the first start the requested one.
  public var format: VideoFormat {
    self.state.withLock { $0.format }
  }

  /// The camera by its node or name, as it was selected.
  public var sourceName: String? { "v4l2:\(self.request.specification.selection)" }

  /// Direction the camera faces; `.unspecified` before the first start.
  public var position: CameraPosition {
    self.state.withLock { $0.position }
  }

  /// Rotation that the samples of an H.264 camera need, from the mounting of its sensor; `.up` before the first start.
  public var sampleOrientation: Orientation {
    self.state.withLock { $0.orientation }
  }

  /// Whether the camera captures, or is searched for after it was lost.
  public var isStarted: Bool {
    self.thread.isStarted
  }

  /// Opens the camera, chooses a format, and starts streaming.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` when there is no such camera,
  ///   ``VidiconError/Code/notPermitted`` when the user may not open it or another program uses it,
  ///   ``VidiconError/Code/invalidData`` when it offers no supported format.
  public func start(consumer: any VideoConsumer) throws(VidiconError) {
    guard !self.thread.isStarted else { return }
    let wake = try WakePipe(source: self.request.source)
    let session = try CameraSession.open(
      self.request, paths: CameraFinder.paths(for: self.request.specification), wake: wake)
    self.state.withLock { state in
      state.format = session.format
      state.position = session.device.position
      state.orientation = session.orientation
      state.isKeyframeRequested = false
      state.device = session.device
    }
    let loop = CameraCaptureLoop(
      self.request, device: session.device, state: self.state, wake: wake, consumer: consumer)
    let first = TransferBox(session)
    self.wake.withLock { $0 = wake }
    do throws(VidiconError) {
      try self.thread.start { _ in loop.run(first) }
    } catch {
      self.wake.withLock { $0 = nil }
      self.state.withLock { $0.device = nil }
      throw error
    }
  }

  /// Stops capturing; returns within a second even when the device does not respond.
  public func stop() {
    self.wake.withLock { $0.take() }?.stop()
    self.thread.stop(within: Self.stopTimeout)
    self.state.withLock { $0.device = nil }
  }

  /// Requests a keyframe from an H.264 camera; the camera's thread performs the call, since a driver may block.
  public func requestKeyframe() {
    self.state.withLock { $0.isKeyframeRequested = true }
    self.wake.withLock { $0 }?.wake()
  }

  /// The controls with their current values; empty when the camera is not connected.
  public var controls: [DeviceControl] {
    (try? self.openDevice())?.controls.map(\.control) ?? []
  }

  /// Sets a control, also while capturing; restored when the camera is reconnected.
  ///
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` for an unknown control, or without a camera,
  ///   ``VidiconError/Code/invalidSpecification`` for an invalid value, or where several cameras have the name,
  ///   ``VidiconError/Code/notPermitted`` when the user may not open the camera or another program uses it,
  ///   ``VidiconError/Code/failed`` when the device rejects the value or was unplugged.
  public func setControl(_ name: String, to value: Int) throws(VidiconError) {
    try self.openDevice().setControl(name, to: value, source: self.request.source)
    self.state.withLock { state in
      state.settings.removeAll { $0.name == name }
      state.settings.append((name, value))
    }
  }

  /// The streaming device; else the first device of the specification that can be opened.
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

extension CameraCapturer: ExclusiveCapturer {
  /// Compares device nodes, since one camera has many names. A specification without device matches any camera.
  package func relation(of other: any VideoCapturer) -> DeviceRelation {
    guard let other = other as? CameraCapturer else { return .otherDevice }
    var (own, wanted) = (self.request.specification, other.request.specification)
    guard own.device == wanted.device || wanted.device == .first || self.node == Self.node(of: wanted) else {
      return .otherDevice
    }
    (own.device, wanted.device) = (.first, .first)
    return own == wanted ? .same : .sameWithOtherOptions
  }

  package func another() -> any VideoCapturer {
    CameraCapturer(
      self.request.specification, width: self.request.width, height: self.request.height,
      frameRate: self.request.frameRate)
  }

  /// The node of the open device; while the camera is lost, the node that the specification selects.
  private var node: String? {
    if let path = self.state.withLock({ $0.device?.path }) { return realpath(path) ?? path }
    return Self.node(of: self.request.specification)
  }

  /// The node that a specification selects; nil when no such camera is connected.
  private static func node(of specification: CameraSpecification) -> String? {
    guard let path = try? CameraFinder.paths(for: specification).first else { return nil }
    return realpath(path) ?? path
  }
}
