internal import CDatagrams
internal import Media
internal import NIOCore
internal import Synchronization

/// The viewers of one stream on one event loop.
// Safe because all properties but the atomic count are used on the event loop only.
final class ViewerGroup: @unchecked Sendable {
  let eventLoop: any EventLoop
  private let counters: ViewerCounters
  /// The UDP sockets; nil before the server listens, or without UDP.
  private let sockets: @Sendable () -> DatagramSockets?
  private let viewerCount = Atomic(0)
  private var viewers: [RTPViewer] = []
  /// Destinations of the present datagrams; a property to reuse its memory.
  private var destinations: [vidicon_destination] = []

  init(
    eventLoop: any EventLoop, counters: ViewerCounters, sockets: @escaping @Sendable () -> DatagramSockets?
  ) {
    self.eventLoop = eventLoop
    self.counters = counters
    self.sockets = sockets
  }

  /// Whether the group has a viewer; callable on any thread.
  var hasViewers: Bool {
    self.viewerCount.load(ordering: .acquiring) > 0
  }

  /// Adds a viewer; without effect when it is in the group.
  func add(_ viewer: RTPViewer) {
    self.eventLoop.preconditionInEventLoop()
    guard !self.viewers.contains(where: { $0 === viewer }) else { return }
    self.viewers.append(viewer)
    self.viewerCount.add(1, ordering: .releasing)
    self.counters.viewers.add(1, ordering: .relaxed)
  }

  /// Removes a viewer; without effect when it is not in the group.
  func remove(_ viewer: RTPViewer) {
    self.eventLoop.preconditionInEventLoop()
    guard let index = self.viewers.firstIndex(where: { $0 === viewer }) else { return }
    self.viewers.remove(at: index)
    self.viewerCount.subtract(1, ordering: .releasing)
    self.counters.viewers.subtract(1, ordering: .relaxed)
  }

  /// Sends packets to every viewer that is due for them: one write for each TCP viewer, one call for all UDP viewers.
  func fanOut(_ packets: SharedPackets) {
    let now = MediaTime(nanoseconds: Int64(clamping: self.eventLoop.now.uptimeNanoseconds))
    self.destinations.removeAll(keepingCapacity: true)
    // A viewer may leave during the loop, which iterates over a copy of the list.
    for viewer in self.viewers {
      if let destinations = viewer.deliver(packets, at: now) { self.destinations.append(destinations.rtp) }
    }
    if !self.destinations.isEmpty, let sockets = self.sockets() {
      let datagrams = packets.datagrams()
      let dropped = sockets.sendRTP(datagrams, to: self.destinations)
      self.counters.bytesSent.add(datagrams.buffer.readableBytes * self.destinations.count, ordering: .relaxed)
      if dropped > 0 { self.counters.countDroppedDatagrams(dropped) }
    }
  }

  /// Sends RTCP packets to every viewer that plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.send(reports) }
  }

  /// Disconnects the viewers whose connections have data to send.
  func discardEarlier() {
    for viewer in self.viewers { viewer.discardEarlier() }
  }

  /// Sends RTCP goodbyes to every viewer and closes its connection.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.endStream(goodbyes) }
  }
}
