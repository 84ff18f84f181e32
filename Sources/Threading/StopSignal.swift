package import Media

/// A one-way flag that asks a thread to end, with an interruptible sleep.
package final class StopSignal: Sendable {
  private let stopped = Monitor(false)

  /// A signal that has not been given.
  package init() {}

  /// Whether the signal was given.
  package var isStopped: Bool {
    self.stopped.read { $0 }
  }

  /// Gives the signal and wakes every thread in ``wait(until:)``.
  package func stop() {
    self.stopped.withLock { $0 = true }
  }

  /// Sleeps until a time, or until the signal is given.
  ///
  /// - Returns: True when the time was reached; false when the thread must end.
  package func wait(until time: MediaTime) -> Bool {
    self.stopped.wait(until: time) { $0 ? true : nil } == nil
  }
}
