#if os(Linux)
internal import Capture
internal import Threading
internal import Media

/// Captures a screen for as long as it is asked to, through as many connections to the X server as that takes.
final class ScreenPlayback: Sendable {
  /// The first pause before the X server is looked for again, which doubles up to the longest.
  private static let pauses = (first: MediaDuration.milliseconds(100), longest: MediaDuration.seconds(1))

  private let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let control: ScreenControl
  private let consumer: any VideoConsumer
  private let formatChanged: @Sendable (VideoFormat) -> Void

  /// - Parameter formatChanged: Called before the consumer is told of another format.
  init(
    _ specification: ScreenSpecification, frameRate: FrameRate, control: ScreenControl, consumer: any VideoConsumer,
    formatChanged: @escaping @Sendable (VideoFormat) -> Void
  ) {
    self.specification = specification
    self.frameRate = frameRate
    self.control = control
    self.consumer = consumer
    self.formatChanged = formatChanged
  }

  /// Connects and looks up what is to be captured.
  ///
  /// - Parameter limit: After what time to give up; nil to wait until ``ScreenControl/stop()``.
  func open(within limit: MediaDuration?) throws(VidiconError) -> ScreenSession {
    let source = self.specification.description
    let opening = try X11Opening(
      X11Display(self.specification.display, source: source), wake: self.control.wake, source: source)
    self.control.onStop { opening.abandon() }
    defer { self.control.onStop(nil) }
    guard let result = opening.result(until: limit.map { StreamClock.system.now() + $0 }) else {
      throw VidiconError(
        .failed, subject: source, cause: "the X server does not answer",
        nextStep: "see whether it hangs, and whether a firewall keeps its connections away")
    }
    return try ScreenSession(self.specification, frameRate: self.frameRate, connection: result.get())
  }

  /// Delivers pictures until the control is stopped, or there will be no more.
  func play(_ first: ScreenSession) {
    var session = first
    while true {
      switch session.run(self.consumer, formatChanged: self.formatChanged) {
      case .stopped: return
      case .closed(let error): return self.consumer.captureEnded(error)
      case .lost(let error):
        self.consumer.captureEnded(error)
        // Another server gives the numbers of windows out anew.
        guard self.specification.window == nil, let next = self.findAgain() else { return }
        if next.format != session.format {
          self.formatChanged(next.format)
          self.consumer.captureFormatChanged(to: next.format)
        }
        session = next
      }
    }
  }

  /// Tries until the X server is there again; nil when it is to stop.
  private func findAgain() -> ScreenSession? {
    var pause = Self.pauses.first
    while self.control.wake.wait(until: StreamClock.system.now() + pause) == .timedOut {
      // Why it is not there yet was told when it went away.
      if let session = try? self.open(within: nil) { return session }
      pause = min(pause * 2, Self.pauses.longest)
    }
    return nil
  }
}
#endif
