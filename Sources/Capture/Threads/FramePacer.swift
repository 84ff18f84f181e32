package import Media

/// Wakes its thread for each picture of a ``FrameGrid``, until that is told to stop.
package struct FramePacer: ~Copyable {
  /// The grid, anchored at a whole second of the time of day.
  package let grid: FrameGrid
  private let signal: StopSignal
  private var last: Int64

  /// A pacer whose first picture is the next one on the grid from now.
  package init(rate: FrameRate, signal: StopSignal) {
    let now = StreamClock.system.now()
    self.grid = FrameGrid(rate: rate, at: now)
    self.signal = signal
    self.last = self.grid.index(at: now)
  }

  /// Waits for the next picture; one that was missed by less than an interval is due at once.
  ///
  /// - Returns: The index and time on the grid; nil when the thread shall end.
  package mutating func next() -> (index: Int64, time: MediaTime)? {
    let index = self.grid.index(after: self.last, at: StreamClock.system.now())
    let time = self.grid.time(of: index)
    guard self.signal.wait(until: time) else { return nil }
    self.last = index
    return (index, time)
  }
}
