package import Media
package import NIOCore
internal import Synchronization

/// Sends deliveries to viewers of one protocol, on one event loop.
///
/// A batch is one call for all viewers: the loop over them is compiled with the protocol's own types.
package protocol DeliverySender: AnyObject, SendableMetatype {
  /// The packets or messages of a delivery.
  associatedtype Packets: SharedMedia
  /// A viewer with its connection.
  associatedtype Viewer: AnyObject

  /// Sends deliveries to viewers as each of them decides: one write for each connection.
  ///
  /// - Returns: Number of bytes passed to the system.
  func send(_ deliveries: [SharedDelivery<Packets>], to viewers: [ArraySlice<Viewer>], at now: MediaTime) -> Int

  /// Drops what waits for a viewer that has left. Without effect by default.
  func viewerLeft(_ viewer: Viewer)
}

extension DeliverySender {
  /// Does nothing: for senders that keep nothing of a viewer.
  package func viewerLeft(_ viewer: Viewer) {}
}

/// The viewers of one stream on one event loop.
// Safe because all properties but the atomic count and the locked queue are used on the event loop only.
package final class ViewerGroup<Sender: DeliverySender>: @unchecked Sendable {
  package typealias Delivery = SharedDelivery<Sender.Packets>

  /// The event loop of all viewers' connections.
  package let eventLoop: any EventLoop
  /// Sends to the viewers; used on the event loop.
  package let sender: Sender
  /// The viewers; used on the event loop.
  package private(set) var viewers: [Sender.Viewer] = []
  private let counters: ViewerCounters
  private let viewerCount = Atomic(0)
  private let queue = Mutex(DeliveryQueue<Sender.Packets>())
  private let turns: FanOutTurns
  /// Index of the viewer that is sent each delivery first: another one each time, so that none is always last.
  private var firstViewer = 0

  /// Creates a group without viewers on an event loop.
  package init(eventLoop: any EventLoop, counters: ViewerCounters, sender: Sender) {
    self.eventLoop = eventLoop
    self.counters = counters
    self.sender = sender
    self.turns = FanOutTurns.shared(on: eventLoop)
  }

  /// Whether the group has a viewer; callable on any thread.
  package var hasViewers: Bool {
    self.viewerCount.load(ordering: .acquiring) > 0
  }

  /// Adds a viewer.
  ///
  /// - Returns: Whether it was not in the group before.
  @discardableResult
  package func add(_ viewer: Sender.Viewer) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard !self.viewers.contains(where: { $0 === viewer }) else { return false }
    self.viewers.append(viewer)
    self.viewerCount.add(1, ordering: .releasing)
    self.counters.viewers.add(1, ordering: .relaxed)
    return true
  }

  /// Removes a viewer.
  ///
  /// - Returns: Whether it was in the group.
  @discardableResult
  package func remove(_ viewer: Sender.Viewer) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard let index = self.viewers.firstIndex(where: { $0 === viewer }) else { return false }
    self.viewers.remove(at: index)
    self.viewerCount.subtract(1, ordering: .releasing)
    self.counters.viewers.subtract(1, ordering: .relaxed)
    self.sender.viewerLeft(viewer)
    return true
  }

  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.eventLoop.now.uptimeNanoseconds))
  }

  /// Queues packets for the viewers, and wakes the event loop up unless that is done already; callable on any thread.
  ///
  /// - Returns: Whether packets were dropped, so that a keyframe is needed.
  package func enqueue(_ delivery: Delivery) -> Bool {
    let outcome = self.queue.withLock { $0.append(delivery, at: self.now) }
    if outcome.droppedFrames > 0 {
      let viewers = self.viewerCount.load(ordering: .relaxed)
      self.counters.framesSkipped.add(outcome.droppedFrames * viewers, ordering: .relaxed)
    }
    if outcome.needsWakeUp { self.eventLoop.execute { self.turns.wakeUp(self) } }
    return outcome.needsKeyframe
  }

  /// Maximum time that packets have waited for the event loop, in the last 10 to 20 s; callable on any thread.
  package var lag: MediaDuration {
    self.queue.withLock { $0.maximumLag(at: self.now) }
  }

  /// Sends everything that is queued; called on the event loop.
  func sendBacklog() {
    while self.sendTurn() {}
  }
}

extension ViewerGroup: FanOutGroup {
  /// Sends the oldest of the queued packets to every viewer that is due for them: one write for each TCP viewer.
  func sendTurn() -> Bool {
    let now = self.now
    let discards = self.counters.discards.load(ordering: .acquiring)
    let taken = self.queue.withLock { $0.take(at: now) }
    // Video that waited for the event loop while privacy was switched on is not sent.
    let deliveries = taken.deliveries
      .compactMap { $0.video != nil && $0.discards != discards ? $0.withoutVideo : $0 }
    guard !deliveries.isEmpty else { return taken.hasMore }
    // A viewer may leave during the loop, which iterates over a copy of the list.
    let viewers = self.viewers
    self.firstViewer = self.firstViewer + 1 < viewers.count ? self.firstViewer + 1 : 0
    let byteCount = self.sender.send(
      deliveries, to: [viewers[self.firstViewer...], viewers[..<self.firstViewer]], at: now)
    if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
    return taken.hasMore
  }
}
