#if os(Linux)
internal import Capture
internal import Threading
internal import Media

/// The capture loop of a screen: delivers frames until it is stopped, and reconnects to the X server when it is lost.
final class ScreenCaptureLoop: Sendable {
  /// Delays before reconnecting.
  private static let backoff = RetryBackoff(first: .milliseconds(100), maximum: .seconds(1))

  private let specification: ScreenSpecification
  private let frameRate: FrameRate
  private let cancellation: ScreenCancellation
  private let consumer: any VideoConsumer
  private let formatChanged: @Sendable (VideoFormat) -> Void

  /// - Parameter formatChanged: Called with a new format before the consumer is.
  init(
    _ specification: ScreenSpecification, frameRate: FrameRate, cancellation: ScreenCancellation,
    consumer: any VideoConsumer,
    formatChanged: @escaping @Sendable (VideoFormat) -> Void
  ) {
    self.specification = specification
    self.frameRate = frameRate
    self.cancellation = cancellation
    self.consumer = consumer
    self.formatChanged = formatChanged
  }

  /// Connects and resolves the specification.
  ///
  /// - Parameter timeout: Maximum time; nil to wait until ``ScreenCancellation/stop()``.
  func open(timeout: MediaDuration?) throws(VidiconError) -> ScreenSession {
    let source = self.specification.description
    let attempt = try X11ConnectionAttempt(
      X11Display(self.specification.display, source: source), wake: self.cancellation.wake, source: source)
    self.cancellation.onStop { attempt.abandon() }
    defer { self.cancellation.onStop(nil) }
    guard let result = attempt.result(until: timeout.map { StreamClock.system.now() + $0 }) else {
      throw VidiconError(
        .failed, subject: source, cause: "the X server does not respond",
        nextStep: "check whether it hangs, and whether a firewall blocks its connections")
    }
    return try ScreenSession(self.specification, frameRate: self.frameRate, connection: result.get())
  }

  /// Delivers frames until stopped, or until no more frames can follow.
  func run(_ first: ScreenSession) {
    var session = first
    while true {
      switch session.run(self.consumer, formatChanged: self.formatChanged) {
      case .stopped: return
      case .closed(let error): return self.consumer.captureEnded(error)
      case .lost(let error):
        self.consumer.captureEnded(error)
        // Another server assigns other window numbers.
        guard self.specification.window == nil, let next = self.reconnect() else { return }
        if next.format != session.format {
          self.formatChanged(next.format)
          self.consumer.captureFormatChanged(to: next.format)
        }
        session = next
      }
    }
  }

  /// Retries until the X server is back; nil when stopped.
  private func reconnect() -> ScreenSession? {
    var backoff = Self.backoff
    while self.cancellation.wake.wait(until: StreamClock.system.now() + backoff.next()) == .timedOut {
      // The loss was reported already.
      if let session = try? self.open(timeout: nil) { return session }
    }
    return nil
  }
}
#endif
