internal import Capture
internal import Media
internal import Threading

/// Opens a source on a thread of its own, within a timeout: opening a device may block for ever with a broken driver.
///
/// A source whose opening is given up is stopped once its start has returned.
final class SourceOpening: Sendable {
  /// End of an opening; the first one counts.
  enum Outcome: Equatable {
    /// The caller stops the source.
    case opened
    case failed(VidiconError)
    /// The start did not return in time.
    case timedOut
    /// The stream was stopped.
    case abandoned
  }

  /// The source. Only one thread may open it at a time.
  let capturer: any AnyObject & Sendable
  /// Name of the source; nil where it has none.
  let name: String?
  /// Stops the source.
  let stop: @Sendable () -> Void
  /// Called when the start has returned; where the opening had been given up by then, after the source was stopped again. A caller
  /// that does not call ``run(timeout:)`` calls it.
  let returned: @Sendable () -> Void
  private let start: @Sendable () throws(VidiconError) -> Void
  private let outcome = Monitor<Outcome?>(nil)

  /// - Parameters:
  ///   - start: Opens the source; may block indefinitely.
  ///   - stop: Stops the source.
  ///   - returned: Called when the start has returned.
  init(
    of capturer: any AnyObject & Sendable, named name: String? = nil,
    start: @escaping @Sendable () throws(VidiconError) -> Void, stop: @escaping @Sendable () -> Void,
    returned: @escaping @Sendable () -> Void
  ) {
    self.capturer = capturer
    self.name = name
    self.start = start
    self.stop = stop
    self.returned = returned
  }

  /// Opens a capturer of video, whose format is announced to its feed.
  convenience init(
    of capturer: any VideoCapturer, named name: String? = nil, into feed: VideoFeed,
    returned: @escaping @Sendable () -> Void
  ) {
    self.init(
      of: capturer, named: name,
      start: { () throws(VidiconError) in
        try capturer.start(consumer: feed)
        feed.announce(capturer.format)
      }, stop: { capturer.stop() }, returned: returned)
  }

  /// Opens a capturer of audio.
  convenience init(
    of capturer: any AudioCapturer, named name: String? = nil, into feed: AudioFeed,
    returned: @escaping @Sendable () -> Void
  ) {
    self.init(
      of: capturer, named: name, start: { () throws(VidiconError) in try capturer.start(consumer: feed) },
      stop: { capturer.stop() }, returned: returned)
  }

  /// Makes ``run(timeout:)`` return, unless the source is open.
  func abandon() {
    _ = self.end(.abandoned)
  }

  /// Blocks until the source is open or has failed, the timeout is over, or ``abandon()`` is called.
  ///
  /// - Returns: Nil when no thread could be started.
  func run(timeout: MediaDuration) -> Outcome? {
    let abandoned = self.outcome.read { $0 }
    guard abandoned == nil, WorkerThread.startDetached(named: "open", self.open) else {
      self.returned()
      return abandoned
    }
    return self.outcome.wait(until: StreamClock.system.now() + timeout) { $0 } ?? self.end(.timedOut)
  }

  private func open() {
    do throws(VidiconError) {
      try self.start()
      if self.end(.opened) != .opened { self.stop() }
      self.returned()
    } catch {
      // Before the failure is known: the same source may be tried again at once.
      self.returned()
      _ = self.end(.failed(error))
    }
  }

  /// Ends the opening, unless it has ended.
  ///
  /// - Returns: The outcome that counts.
  private func end(_ outcome: Outcome) -> Outcome {
    self.outcome.withLock { first in
      first = first ?? outcome
      return first ?? outcome
    }
  }
}
