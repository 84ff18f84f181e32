package import Media
package import Threading

/// Wakes its thread for each picture of a ``FrameGrid``, until that is told to stop.
package struct FramePacer: ~Copyable {
  private let signal: StopSignal
  private var plan: FramePlan

  /// The grid, anchored at a whole second of the time of day.
  package var grid: FrameGrid { self.plan.grid }

  /// A pacer whose first picture is the next one on the grid from now.
  ///
  /// - Parameter longestBurst: The most pictures that are made up for when the thread was woken late; 0 leaves out what was
  ///   missed, but for the latest.
  package init(rate: FrameRate, signal: StopSignal, longestBurst: Int64 = 0) {
    let now = StreamClock.system.now()
    self.signal = signal
    self.plan = FramePlan(grid: FrameGrid(rate: rate, at: now), longestBurst: longestBurst, at: now)
  }

  /// Waits for the next picture; one that was missed by less than an interval is due at once.
  ///
  /// - Returns: The index and time on the grid; nil when the thread shall end.
  package mutating func next() -> (index: Int64, time: MediaTime)? {
    let index = self.plan.next(at: StreamClock.system.now())
    let time = self.grid.time(of: index)
    guard self.signal.wait(until: time) else { return nil }
    self.plan.wakeUp(at: StreamClock.system.now())
    return (index, time)
  }
}
