internal import CV4L2
internal import Capture
internal import Media
internal import Synchronization
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// What the thread of a camera does: takes pictures until it is told to stop, and looks for the camera when it is lost.
final class CameraPlayback: Sendable {
  /// Without a picture for so long, it is asked whether the camera is still there.
  private static let patience = MediaDuration.milliseconds(500)
  /// Failures in turn after which the camera is opened anew.
  private static let mostFailures = 10

  private let request: CameraRequest
  private let state: CameraState
  private let wake: WakePipe
  private let output: CameraOutput
  /// What the camera was when it was opened.
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

  /// Runs until it is told to stop.
  ///
  /// - Parameter first: The camera, opened.
  func play(_ first: TransferBox<CameraSession>) {
    var session = first.take()
    var recovery = CameraRecovery()
    while let path = session?.device.path {
      let error = self.capture(&session)
      guard let error, !self.wake.isStopped else { return }
      if recovery.handleFailure(after: self.output.present) { self.output.end(error) }
      session = self.search(from: path, &recovery)
      if let session {
        self.output.begin(trial: recovery.trial)
        self.adopt(session)
      }
    }
  }

  /// Takes pictures, and lets the device go: while it is open here, it comes back at another node.
  ///
  /// - Returns: Why there are no more; nil when it was told to stop.
  private func capture(_ session: inout CameraSession?) -> VidiconError? {
    guard let current = session.take() else { return nil }
    defer {
      self.state.withLock { $0.device = nil }
      current.close()
    }
    do throws(VidiconError) {
      let pictures = try CameraPictures(current, output: self.output)
      defer { pictures.stop() }
      do throws(V4L2Failure) {
        try self.takePictures(current, pictures)
        return nil
      } catch {
        return error.captureError(source: self.request.source, path: current.device.path)
      }
    } catch {
      return error
    }
  }

  private func takePictures(_ session: CameraSession, _ pictures: CameraPictures) throws(V4L2Failure) {
    var (timestamps, sequence) = (CameraTimestamps(), CameraSequence())
    let interval = session.format.frameRate.frameInterval
    var lastArrival = StreamClock.system.now()
    var failures = 0
    while !self.wake.isStopped {
      try session.queueReturned()
      if self.state.takeKeyframeRequest() { pictures.requestKeyframe() }
      let outcome = self.wake.wait(
        for: session.device.descriptor, until: StreamClock.system.now() + Self.patience)
      if outcome == .stopped { return }
      guard case .ready(let events) = outcome else {
        if StreamClock.system.now() - lastArrival > Self.patience { try self.checkPresence(of: session.device) }
        continue
      }
      do throws(V4L2Failure) {
        guard let buffer = try session.dequeue() else {
          // An error that is none of this queue's, or a picture that somebody else took: no reason to turn fast.
          if events & Int16(POLLIN) == 0 {
            try self.checkPresence(of: session.device)
            failures += 1
            self.rest()
          }
          if failures > Self.mostFailures { throw V4L2Failure(call: .capture, number: EIO) }
          continue
        }
        let now = StreamClock.system.now()
        (lastArrival, failures) = (now, 0)
        let time = timestamps.time(of: buffer.timestamp < 0 ? nil : buffer.timestamp, at: now)
        let missing = sequence.missing(before: buffer.sequence)
        if missing > 0 {
          self.output.skip(at: (1...missing).reversed().map { time - interval * Int64($0) })
          pictures.handleLoss()
        }
        try pictures.handle(buffer, at: time)
      } catch {
        if error.isGone { throw error }
        failures += 1
        if failures > Self.mostFailures { throw error }
        try self.checkPresence(of: session.device)
        self.rest()
      }
    }
  }

  /// Waits a moment, so that a device that fails at once is not asked without end.
  private func rest() {
    _ = self.wake.wait(until: StreamClock.system.now() + .milliseconds(20))
  }

  /// - Throws: When the device does not answer any more, or its node is gone.
  private func checkPresence(of device: V4L2Device) throws(V4L2Failure) {
    guard device.isThere else { throw V4L2Failure(call: .capture, number: ENODEV) }
    do throws(V4L2Failure) {
      _ = try V4L2Device(path: device.path)
    } catch {
      if error.call == .open, error.isGone { throw V4L2Failure(call: .capture, number: ENODEV) }
    }
  }

  /// Looks for the camera until it is back.
  ///
  /// - Returns: Nil when it was told to stop.
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

  /// Goes on with a camera that came back.
  private func adopt(_ session: CameraSession) {
    let settings = self.state.withLock { state in
      state.device = session.device
      state.position = session.device.position
      state.orientation = session.orientation
      return state.settings
    }
    for (name, value) in settings {
      // What cannot be set now is left as the camera has it.
      try? session.device.setControl(name, to: value, source: self.request.source)
    }
    self.output.announce(session.format)
  }
}
