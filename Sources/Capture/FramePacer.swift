package import Media
package import Threading

/// Wakes a generator's thread for each frame of a ``FrameGrid`` until its ``StopSignal`` is given.
package struct FramePacer: ~Copyable {
  private let signal: StopSignal
  private var plan: FramePlan

  /// The grid, anchored at a whole second of wall-clock time.
  package var grid: FrameGrid { self.plan.grid }

  /// A pacer whose first frame is the next one on the grid.
  ///
  /// - Parameter maximumBurst: Maximum number of missed frames made up for after the thread was woken late; 0 skips all
  ///   missed frames but the latest.
  package init(rate: FrameRate, signal: StopSignal, maximumBurst: Int64 = 0) {
    let now = StreamClock.system.now()
    self.signal = signal
    self.plan = FramePlan(grid: FrameGrid(rate: rate, at: now), maximumBurst: maximumBurst, at: now)
  }

  /// Blocks until the next frame is due; returns at once for a frame missed by less than an interval.
  ///
  /// - Returns: The frame's index and time on the grid; nil when the thread must end.
  package mutating func next() -> (index: Int64, time: MediaTime)? {
    let index = self.plan.next(at: StreamClock.system.now())
    let time = self.grid.time(of: index)
    guard self.signal.wait(until: time) else { return nil }
    self.plan.wakeUp(at: StreamClock.system.now())
    return (index, time)
  }
}

/// Decides which frame of a ``FrameGrid`` is produced next. Pure: the time is an argument.
///
/// A thread that the scheduler woke late produces up to `maximumBurst` missed frames back to back. A thread whose own work
/// exceeds the frame interval would only fall further behind; it skips the missed frames.
package struct FramePlan {
  /// The grid whose indices are returned.
  package let grid: FrameGrid
  private let maximumBurst: Int64
  private var last: Int64
  /// Index up to which frames are due without waiting.
  private var due: Int64

  /// A plan that begins with the frame after the one that is due at `time`.
  package init(grid: FrameGrid, maximumBurst: Int64, at time: MediaTime) {
    self.grid = grid
    self.maximumBurst = maximumBurst
    self.last = grid.index(at: time)
    self.due = self.last
  }

  /// Returns the index of the next frame; the caller waits for its time unless that has passed.
  package mutating func next(at time: MediaTime) -> Int64 {
    self.last = self.last < self.due ? self.last + 1 : self.grid.index(after: self.last, at: time)
    return self.last
  }

  /// Records the time at which the wait for the next frame ended.
  package mutating func wakeUp(at time: MediaTime) {
    guard self.last >= self.due else { return }
    let latest = self.grid.index(at: time)
    if latest - self.last <= self.maximumBurst { self.due = latest }
  }
}

/// The times of the frames of a constant frame rate: frame `n` is due at `anchor` + `n` frame intervals.
package struct FrameGrid: Hashable, Sendable {
  /// Time of frame 0.
  package let anchor: MediaTime
  /// Frames per second.
  package let rate: FrameRate

  /// A grid with a given time of frame 0.
  package init(anchor: MediaTime, rate: FrameRate) {
    self.anchor = anchor
    self.rate = rate
  }

  /// A grid anchored at the last whole second of wall-clock time up to `time`: at an integral frame rate, one frame falls
  /// on each whole second.
  package init(rate: FrameRate, at time: MediaTime, clock: StreamClock = .system) {
    let unixTime = clock.unixTime(at: time)
    var remainder = unixTime % 1_000_000_000
    if remainder < 0 { remainder += 1_000_000_000 }
    self.init(anchor: time - MediaDuration(nanoseconds: remainder), rate: rate)
  }

  /// The time at which a frame is due.
  package func time(of index: Int64) -> MediaTime {
    self.rate.time(ofFrame: index, from: self.anchor)
  }

  /// The last frame that is due at `time`, which must not be before the anchor.
  package func index(at time: MediaTime) -> Int64 {
    let index = (time - self.anchor).ticks(timescale: self.rate.numerator) / Int64(self.rate.denominator)
    // Frame times are rounded down to a nanosecond, so the quotient may be one too small.
    return self.time(of: index + 1) <= time ? index + 1 : index
  }

  /// The frame to produce after `last`: the next one, or the latest due one when more than one was missed.
  package func index(after last: Int64, at time: MediaTime) -> Int64 {
    max(last + 1, self.index(at: time))
  }
}
