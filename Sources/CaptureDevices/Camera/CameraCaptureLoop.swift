internal import CV4L2
internal import Capture
internal import Libc
internal import Media
internal import Synchronization
internal import Threading

/// The capture loop of a camera: delivers frames until it is stopped, and searches for the camera when it is lost.
final class CameraCaptureLoop: Sendable {
  /// Time without a frame after which the device's presence is checked.
  private static let frameTimeout = MediaDuration.milliseconds(500)
  /// Number of consecutive failures after which the camera is reopened.
  private static let maximumFailures = 10

  private let request: CameraRequest
  private let state: CameraState
  private let wake: WakePipe
  private let output: CameraOutput
  /// Identity of the camera when it was first opened.
  private let identity: V4L2Device.Identity
  private let path: String

  init(
    _ request: CameraRequest, device: V4L2Device, state: CameraState, wake: WakePipe, consumer: any VideoConsumer
  ) {
    self.request = request
    self.identity = device.identity
    self.path = device.path
    self.state = state
    self.wake = wake
    self.output = CameraOutput(consumer, wake: wake, state: state)
  }

  /// Runs until the ``WakePipe`` is stopped.
  ///
  /// - Parameter first: The open camera.
  func run(_ first: TransferBox<CameraSession>) {
    var session = first.take()
    var recovery = CameraRecovery()
    while let path = session?.device.path {
      let loss = self.capture(&session)
      guard let loss, !self.wake.isStopped else { return }
      if recovery.handleLoss(after: self.output.currentRun, isUnplugged: loss.isUnplugged) {
        self.output.end(loss.error)
      }
      session = self.search(from: path, &recovery)
      if let session {
        self.output.begin(trial: recovery.trial)
        self.adopt(session)
      }
    }
  }

  /// Reason why a camera is lost.
  private struct Loss {
    var error: VidiconError
    /// Whether the camera was disconnected; it has failed otherwise.
    var isUnplugged = false
  }

  /// Delivers frames, then closes the device: while it is open here, a reconnected camera gets another node.
  ///
  /// - Returns: Why the camera is lost; nil when stopped.
  private func capture(_ session: inout CameraSession?) -> Loss? {
    guard let current = session.take() else { return nil }
    defer {
      self.state.withLock { $0.device = nil }
      current.close()
    }
    do throws(VidiconError) {
      let reader = try CameraFrameReader(current, output: self.output)
      defer { reader.stop() }
      do throws(V4L2Failure) {
        try self.deliverFrames(current, reader)
        return nil
      } catch {
        return Loss(
          error: error.vidiconError(source: self.request.source, path: current.device.path), isUnplugged: error.isGone)
      }
    } catch {
      return Loss(error: error)
    }
  }

  private func deliverFrames(_ session: CameraSession, _ reader: CameraFrameReader) throws(V4L2Failure) {
    var (timestamps, sequence, health) = (CameraTimestamps(), CameraSequence(), CameraHealth())
    let interval = session.format.frameRate.frameInterval
    var lastArrival = StreamClock.system.now()
    var failures = 0
    while !self.wake.isStopped {
      try session.queueReleased()
      if self.state.takeKeyframeRequest() { reader.requestKeyframe() }
      let outcome = self.wake.wait(
        for: session.device.descriptor, until: StreamClock.system.now() + Self.frameTimeout)
      if outcome == .stopped { return }
      guard case .ready(let events) = outcome else {
        if StreamClock.system.now() - lastArrival > Self.frameTimeout { try self.checkPresence(of: session.device) }
        continue
      }
      var failure: CameraHealth.Failure?
      do throws(V4L2Failure) {
        if let buffer = try session.dequeue() {
          let now = StreamClock.system.now()
          (lastArrival, failures) = (now, 0)
          let time = timestamps.time(of: buffer.timestamp < 0 ? nil : buffer.timestamp, at: now)
          let missing = sequence.missing(before: buffer.sequence)
          if missing > 0 {
            self.output.skip(at: (1...missing).reversed().map { time - interval * Int64($0) })
            reader.handleLoss()
          }
          failure = try reader.handle(buffer, at: time)
        } else {
          // The device is ready, but no buffer is: an error event, or a buffer dequeued by another process. Must not
          // spin.
          self.pauseAfterFailure()
          if events & Int16(POLLIN) != 0 {
            failure = .missing
          } else {
            try self.checkPresence(of: session.device)
            failures += 1
            if failures > Self.maximumFailures { throw V4L2Failure(call: .capture, number: EIO) }
            continue
          }
        }
      } catch {
        if error.isGone { throw error }
        failures += 1
        if failures > Self.maximumFailures { throw error }
        try self.checkPresence(of: session.device)
        self.pauseAfterFailure()
        continue
      }
      guard let failure else {
        health.handleUsable()
        continue
      }
      switch health.handleFailure(at: StreamClock.system.now()) {
      case .none: break
      case .restart:
        try session.restart()
        sequence = CameraSequence()
        reader.handleRestart()
      case .reopen: throw V4L2Failure(call: failure.call, number: EIO)
      }
    }
  }

  /// Waits 20 ms, so that a device that fails immediately does not keep a core busy.
  private func pauseAfterFailure() {
    _ = self.wake.wait(until: StreamClock.system.now() + .milliseconds(20))
  }

  /// - Throws: ``V4L2Failure`` with `ENODEV` when the device does not respond or its node no longer exists.
  private func checkPresence(of device: V4L2Device) throws(V4L2Failure) {
    guard device.isPresent else { throw V4L2Failure(call: .capture, number: ENODEV) }
    do throws(V4L2Failure) {
      _ = try V4L2Device(path: device.path)
    } catch {
      if error.call == .open, error.isGone { throw V4L2Failure(call: .capture, number: ENODEV) }
    }
  }

  /// Searches for the lost camera until it can be opened.
  ///
  /// - Returns: Nil when stopped.
  private func search(from path: String, _ recovery: inout CameraRecovery) -> CameraSession? {
    var interval = recovery.interval
    while true {
      let end = StreamClock.system.now() + interval
      interval = CameraRecovery.searchInterval
      while self.wake.wait(until: end) == .woken {}
      if self.wake.isStopped { return nil }
      var isChosenByPath = false
      if case .path = self.request.specification.device { isChosenByPath = true }
      let places = CameraFinder.places(
        of: self.identity, at: path, among: CameraFinder.cameras(also: path), isChosenByPath: isChosenByPath)
      guard !places.isEmpty else {
        recovery.handleAbsence()
        continue
      }
      do throws(VidiconError) {
        return try CameraSession.open(self.request, paths: places, wake: self.wake)
      } catch {
        if recovery.handleRefusal(at: StreamClock.system.now()) { self.output.end(error) }
      }
    }
  }

  /// Continues with a camera that came back, and restores its controls.
  private func adopt(_ session: CameraSession) {
    let settings = self.state.withLock { state in
      state.device = session.device
      state.position = session.device.position
      state.orientation = session.orientation
      return state.settings
    }
    for (name, value) in settings {
      // Controls that cannot be set now keep the camera's value.
      try? session.device.setControl(name, to: value, source: self.request.source)
    }
    self.output.announce(session.format)
  }
}
