internal import CDatagrams
internal import Delivery
internal import Media
internal import NIOCore
internal import Synchronization

/// Sends RTP packets to the viewers of one stream on one event loop: over their connections, and as datagrams.
// Safe because all properties are used on the event loop only.
final class RTPSender: DeliverySender, @unchecked Sendable {
  private let eventLoop: any EventLoop
  private let counters: ViewerCounters
  /// The UDP sockets; nil before the server listens, or without UDP.
  private let sockets: @Sendable () -> DatagramSockets?
  private let requestKeyframe: @Sendable () -> Void
  /// Destinations of the current datagrams, by delivery; a property to reuse its memory.
  private var datagrams: [DatagramDestinationLists] = []
  /// Datagrams that wait for the send buffer.
  private var waitingDatagrams = DatagramQueue()
  private var isRetryScheduled = false
  /// Viewers that are sent what followed the last keyframe.
  private var catchingUp: [RTPViewer] = []
  private var isCatchUpScheduled = false

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

  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.eventLoop.now.uptimeNanoseconds))
  }

  func viewerLeft(_ viewer: RTPViewer) {
    self.catchingUp.removeAll { $0 === viewer }
    for case .datagrams(let destinations)? in [viewer.transports.video, viewer.transports.audio] {
      self.waitingDatagrams.remove(destinations.rtp)
    }
  }

  func send(_ deliveries: [RTPDelivery], to viewers: [ArraySlice<RTPViewer>], at now: MediaTime) -> Int {
    self.send(deliveries, to: viewers, at: now) { $0.deliver($1, at: now, datagrams: &$2) }
  }

  /// Sends deliveries to viewers as each of them decides.
  ///
  /// - Parameter deliver: Sends interleaved packets, appends UDP destinations, and returns the number of bytes sent.
  private func send(
    _ deliveries: [RTPDelivery], to viewers: [ArraySlice<RTPViewer>], at now: MediaTime,
    deliver: (RTPViewer, [RTPDelivery], inout [DatagramDestinationLists]) -> Int
  ) -> Int {
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
    return byteCount
  }

  /// Starts a viewer with what followed the last keyframe, the first of which has it: at once over its connection, and at a
  /// multiple of the frame rate over UDP.
  func start(_ viewer: RTPViewer, with deliveries: [RTPDelivery]) {
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
    let byteCount = self.send([delivery], to: [[viewer]], at: now) { $0.send($1, at: now, datagrams: &$2) }
    if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
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

  /// Drops the video that waits to be sent over UDP.
  func discardVideo() {
    self.waitingDatagrams.discardVideo()
  }
}
