package import Authentication
package import Synchronization

/// Counters of one stream over one protocol, incremented on every event loop.
package final class ViewerCounters: Sendable {
  /// Viewers that play, or wait for their first keyframe.
  package let viewers = Atomic(0)
  /// Bytes passed to the system for all viewers.
  package let bytesSent = Atomic(0)
  /// Frames not sent to viewers that read too slowly, or because an event loop was too slow; one for each frame and viewer.
  package let framesSkipped = Atomic(0)
  /// Viewers closed because they read nothing.
  package let viewersClosedAsSlow = Atomic(0)
  /// Datagrams that were not sent.
  package let datagramsDropped = Atomic(0)
  /// Number of calls of ``Broadcast/discardEarlier()``.
  package let discards = Atomic(0)
  /// Counters of refusals and drops that all servers share.
  private let refusals: RefusalCounters

  /// Creates counters, all of them zero.
  package init(refusals: RefusalCounters) {
    self.refusals = refusals
  }

  /// Counts datagrams that were not sent.
  package func countDroppedDatagrams(_ count: Int) {
    self.datagramsDropped.add(count, ordering: .relaxed)
    self.refusals.count(.datagramDropped, count)
  }

  /// Counts a viewer closed because it read nothing.
  package func countSlowViewer() {
    self.viewersClosedAsSlow.add(1, ordering: .relaxed)
    self.refusals.count(.slowViewer)
  }
}
