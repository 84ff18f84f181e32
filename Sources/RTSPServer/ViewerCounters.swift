internal import Synchronization

/// What the viewers of one stream got, counted on every event loop.
final class ViewerCounters: Sendable {
  let viewers = Atomic(0)
  let bytesSent = Atomic(0)
  let picturesSkipped = Atomic(0)
  let viewersClosedAsSlow = Atomic(0)
  let datagramsDropped = Atomic(0)

  /// The counts of this moment.
  var statistics: RTSPStreamStatistics {
    RTSPStreamStatistics(
      viewers: self.viewers.load(ordering: .relaxed),
      bytesSent: self.bytesSent.load(ordering: .relaxed),
      picturesSkipped: self.picturesSkipped.load(ordering: .relaxed),
      viewersClosedAsSlow: self.viewersClosedAsSlow.load(ordering: .relaxed),
      datagramsDropped: self.datagramsDropped.load(ordering: .relaxed))
  }
}
