internal import CDatagrams
internal import Media
internal import NIOCore
internal import Synchronization

/// The viewers of one stream on one event loop.
// Safe because all properties but the atomic count and the locked queue are used on the event loop only.
final class ViewerGroup: @unchecked Sendable {
  let eventLoop: any EventLoop
  private let counters: ViewerCounters
  /// The UDP sockets; nil before the server listens, or without UDP.
  private let sockets: @Sendable () -> DatagramSockets?
  private let viewerCount = Atomic(0)
  private var viewers: [RTPViewer] = []
  /// Destinations of the present datagrams, by delivery; a property to reuse its memory.
  private var datagrams: [DatagramDestinationLists] = []
  private let queue = Mutex(DeliveryQueue())
  /// Datagrams that wait for the send buffer.
  private var waitingDatagrams = DatagramQueue()
  private var isRetryScheduled = false
  /// Index of the viewer that is sent each delivery first: another one each time, so that none is always last.
  private var firstViewer = 0
  /// Viewers that are sent what followed the last keyframe.
  private var catchingUp: [RTPViewer] = []
  private var isCatchUpScheduled = false
  private let requestKeyframe: @Sendable () -> Void

  /// Time after which a full send buffer is tried again: on a link of a gigabit it lasts somewhat longer.
  private static let retryInterval = TimeAmount.microseconds(250)
  /// Interval between two frames of what followed the last keyframe over UDP: 200 in a second, since a player loses what it
  /// does not decode as fast.
  private static let catchUpInterval = TimeAmount.milliseconds(5)

  init(
    eventLoop: any EventLoop, counters: ViewerCounters, sockets: @escaping @Sendable () -> DatagramSockets?,
    requestKeyframe: @escaping @Sendable () -> Void
  ) {
    self.requestKeyframe = requestKeyframe
    self.eventLoop = eventLoop
    self.counters = counters
    self.sockets = sockets
  }

  /// Whether the group has a viewer; callable on any thread.
  var hasViewers: Bool {
    self.viewerCount.load(ordering: .acquiring) > 0
  }

  /// Adds a viewer.
  ///
  /// - Returns: Whether it was not in the group before.
  @discardableResult
  func add(_ viewer: RTPViewer) -> Bool {
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
  func remove(_ viewer: RTPViewer) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard let index = self.viewers.firstIndex(where: { $0 === viewer }) else { return false }
    self.viewers.remove(at: index)
    self.viewerCount.subtract(1, ordering: .releasing)
    self.counters.viewers.subtract(1, ordering: .relaxed)
    self.catchingUp.removeAll { $0 === viewer }
    for case .datagrams(let destinations)? in [viewer.transports.video, viewer.transports.audio] {
      self.waitingDatagrams.remove(destinations.rtp)
    }
    return true
  }

  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.eventLoop.now.uptimeNanoseconds))
  }

  /// Queues packets for the viewers, and wakes the event loop up unless that is done already; callable on any thread.
  ///
  /// - Returns: Whether packets were dropped, so that a keyframe is needed.
  func enqueue(_ delivery: SharedDelivery) -> Bool {
    let outcome = self.queue.withLock { $0.append(delivery, at: self.now) }
    if outcome.droppedFrames > 0 {
      let viewers = self.viewerCount.load(ordering: .relaxed)
      self.counters.framesSkipped.add(outcome.droppedFrames * viewers, ordering: .relaxed)
    }
    if outcome.needsWakeUp { self.eventLoop.execute { self.fanOut() } }
    return outcome.needsKeyframe
  }

  /// Maximum time that packets have waited for the event loop, in the last 10 to 20 s; callable on any thread.
  var lag: MediaDuration {
    self.queue.withLock { $0.maximumLag(at: self.now) }
  }

  /// Sends the queued packets to every viewer that is due for them: one write for each TCP viewer.
  private func fanOut() {
    let now = self.now
    let discards = self.counters.discards.load(ordering: .acquiring)
    // Video that waited for the event loop while privacy was switched on is not sent.
    let deliveries = self.queue.withLock { $0.takeAll(at: now) }
      .compactMap { $0.video != nil && $0.discards != discards ? $0.withoutVideo : $0 }
    guard !deliveries.isEmpty else { return }
    // A viewer may leave during the loop, which iterates over a copy of the list.
    let viewers = self.viewers
    self.firstViewer = self.firstViewer + 1 < viewers.count ? self.firstViewer + 1 : 0
    self.send(deliveries, to: [viewers[self.firstViewer...], viewers[..<self.firstViewer]], at: now) {
      $0.deliver($1, at: now, datagrams: &$2)
    }
  }

  /// Sends deliveries to viewers as each of them decides.
  ///
  /// - Parameter deliver: Sends interleaved packets, appends UDP destinations, and returns the number of bytes sent.
  private func send(
    _ deliveries: [SharedDelivery], to viewers: [ArraySlice<RTPViewer>], at now: MediaTime,
    deliver: (RTPViewer, [SharedDelivery], inout [DatagramDestinationLists]) -> Int
  ) {
    while self.datagrams.count < deliveries.count { self.datagrams.append(DatagramDestinationLists()) }
    var byteCount = 0
    for part in viewers {
      for viewer in part { byteCount += deliver(viewer, deliveries, &self.datagrams) }
    }
    for (index, delivery) in deliveries.enumerated() {
      for packets in delivery.audio { byteCount += self.send(packets, to: self.datagrams[index].audio) }
      if let video = delivery.video { byteCount += self.send(video, to: self.datagrams[index].video) }
      self.datagrams[index].removeAll()
    }
    if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
  }

  /// Starts a viewer with what followed the last keyframe, the first of which has it: at once over its connection, and at a
  /// multiple of the frame rate over UDP.
  func start(_ viewer: RTPViewer, with deliveries: [SharedDelivery]) {
    viewer.catchUp(with: deliveries)
    self.catchingUp.append(viewer)
    // After the connection has handled PLAY: it is notified of unsent bytes between two writes only.
    guard !self.isCatchUpScheduled else { return }
    self.isCatchUpScheduled = true
    self.eventLoop.execute { self.sendCatchUp() }
  }

  /// Sends every viewer that catches up what is next, until none does.
  private func sendCatchUp() {
    let now = self.now
    for viewer in self.catchingUp {
      // A connection queues what it cannot send.
      repeat { self.sendCatchUp(to: viewer, at: now) } while !viewer.hasDatagrams && viewer.isCatchingUp
    }
    self.catchingUp.removeAll { !$0.isCatchingUp }
    self.isCatchUpScheduled = !self.catchingUp.isEmpty
    guard self.isCatchUpScheduled else { return }
    self.eventLoop.scheduleTask(in: Self.catchUpInterval) { self.sendCatchUp() }
  }

  /// Sends a viewer its next delivery.
  private func sendCatchUp(to viewer: RTPViewer, at now: MediaTime) {
    guard let delivery = viewer.nextCatchUp(),
      delivery.video == nil || delivery.discards == self.counters.discards.load(ordering: .acquiring)
    else { return }
    self.send([delivery], to: [[viewer]], at: now) { $0.send($1, at: now, datagrams: &$2) }
  }

  /// Sends packets as datagrams, in as few calls as possible; those beyond the send buffer wait. Returns their number of
  /// bytes.
  private func send(_ packets: SharedPackets, to destinations: [vidicon_destination]) -> Int {
    guard !destinations.isEmpty else { return 0 }
    let outcome = self.waitingDatagrams.append(packets, to: destinations, at: self.now)
    if outcome.dropped > 0 { self.counters.countDroppedDatagrams(outcome.dropped) }
    if outcome.needsKeyframe { self.requestKeyframe() }
    if !self.isRetryScheduled { self.sendWaitingDatagrams() }
    return packets.datagrams().buffer.readableBytes * destinations.count
  }

  /// Sends the datagrams that wait, and tries again soon if the send buffer becomes full.
  private func sendWaitingDatagrams() {
    self.isRetryScheduled = false
    guard let sockets = self.sockets() else { return }
    var unreachable = 0
    let isComplete = self.waitingDatagrams.drain { unreachable += sockets.sendRTP(&$0) }
    if unreachable > 0 { self.counters.countDroppedDatagrams(unreachable) }
    guard !isComplete else { return }
    self.isRetryScheduled = true
    self.eventLoop.scheduleTask(in: Self.retryInterval) { self.sendWaitingDatagrams() }
  }

  /// Sends RTCP packets to every viewer that plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.send(reports) }
  }

  /// Disconnects the viewers whose connections have data to send, and drops the video that waits to be sent over UDP.
  func discardEarlier() {
    self.waitingDatagrams.discardVideo()
    for viewer in self.viewers { viewer.discardEarlier() }
  }

  /// Sends RTCP goodbyes to every viewer and closes its connection.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.endStream(goodbyes) }
  }
}
