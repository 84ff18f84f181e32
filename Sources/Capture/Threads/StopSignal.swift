package import Media

/// Tells a thread, once and for good, that it shall end.
package final class StopSignal: Sendable {
  private let stopped = Monitor(false)

  /// A signal that was not given yet.
  package init() {}

  /// Whether the signal was given.
  package var isStopped: Bool {
    self.stopped.withLock { $0 }
  }

  /// Gives the signal.
  package func stop() {
    self.stopped.withLock { $0 = true }
  }

  /// Waits for a point in time, less long if the signal is given.
  ///
  /// - Returns: Whether the time was reached, and the thread shall go on.
  package func wait(until time: MediaTime) -> Bool {
    self.stopped.wait(until: time) { $0 ? true : nil } == nil
  }
}
