package import Media

/// Which picture of a ``FrameGrid`` is to be made next, after sleep that was longer than it should have been and work that was.
///
/// A thread that was woken late, since the machine had other things to do, makes up for a few pictures at once. One that
/// takes too long itself would only fall behind: it leaves them out.
package struct FramePlan {
  /// The grid.
  package let grid: FrameGrid
  /// The most missed pictures that are made up for.
  private let longestBurst: Int64
  private var last: Int64
  /// Up to this one nothing is waited for.
  private var due: Int64

  /// A plan that begins with the picture after the one that is due at a time.
  package init(grid: FrameGrid, longestBurst: Int64, at time: MediaTime) {
    self.grid = grid
    self.longestBurst = longestBurst
    self.last = grid.index(at: time)
    self.due = self.last
  }

  /// The next picture, to be waited for unless its time is over.
  package mutating func next(at time: MediaTime) -> Int64 {
    self.last = self.last < self.due ? self.last + 1 : self.grid.index(after: self.last, at: time)
    return self.last
  }

  /// Told when the wait for the next picture was over.
  package mutating func wakeUp(at time: MediaTime) {
    guard self.last >= self.due else { return }
    let latest = self.grid.index(at: time)
    if latest - self.last <= self.longestBurst { self.due = latest }
  }
}
