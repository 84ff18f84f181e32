internal import CDatagrams
internal import Media
internal import NIOCore
internal import Synchronization

/// The viewers of one stream on one event loop.
// Safe because all but the atomic count is touched on the event loop only.
final class ViewerGroup: @unchecked Sendable {
  let eventLoop: any EventLoop
  private let counters: ViewerCounters
  /// The UDP sockets, once the server listens.
  private let sockets: @Sendable () -> DatagramSockets?
  private let viewerCount = Atomic(0)
  private var viewers: [RTPViewer] = []
  /// Where the datagrams of a delivery go; kept for its memory.
  private var destinations: [vidicon_destination] = []

  init(
    eventLoop: any EventLoop, counters: ViewerCounters, sockets: @escaping @Sendable () -> DatagramSockets?
  ) {
    self.eventLoop = eventLoop
    self.counters = counters
    self.sockets = sockets
  }

  /// Whether there is anybody to deliver to; may be asked on any thread.
  var hasViewers: Bool {
    self.viewerCount.load(ordering: .acquiring) > 0
  }

  func add(_ viewer: RTPViewer) {
    self.eventLoop.preconditionInEventLoop()
    guard !self.viewers.contains(where: { $0 === viewer }) else { return }
    self.viewers.append(viewer)
    self.viewerCount.add(1, ordering: .releasing)
    self.counters.viewers.add(1, ordering: .relaxed)
  }

  func remove(_ viewer: RTPViewer) {
    self.eventLoop.preconditionInEventLoop()
    guard let index = self.viewers.firstIndex(where: { $0 === viewer }) else { return }
    self.viewers.remove(at: index)
    self.viewerCount.subtract(1, ordering: .releasing)
    self.counters.viewers.subtract(1, ordering: .relaxed)
  }

  /// Hands the packets to every viewer that is to get them: one write each, and one call for all that use UDP.
  func deliver(_ delivery: Delivery) {
    var bytes = 0
    var skipped = 0
    var interleaved: (channel: UInt8, buffer: ByteBuffer)?
    self.destinations.removeAll(keepingCapacity: true)
    // Viewers may leave while this goes on: the loop is over the list as it was.
    for viewer in self.viewers {
      switch viewer.accept(delivery) {
      case .not: break
      case .skipped: skipped += 1
      case .interleaved(let channel):
        if interleaved?.channel != channel { interleaved = (channel, delivery.interleaved(channel: channel)) }
        guard let buffer = interleaved?.buffer else { break }
        viewer.write(buffer)
        bytes += buffer.readableBytes
      case .datagrams(let destinations): self.destinations.append(destinations.rtp)
      }
    }
    if !self.destinations.isEmpty, let sockets = self.sockets() {
      let datagrams = delivery.datagrams()
      let dropped = sockets.sendRTP(datagrams, to: self.destinations)
      bytes += datagrams.buffer.readableBytes * self.destinations.count
      if dropped > 0 { self.counters.datagramsDropped.add(dropped, ordering: .relaxed) }
    }
    if bytes > 0 { self.counters.bytesSent.add(bytes, ordering: .relaxed) }
    if skipped > 0 { self.counters.picturesSkipped.add(skipped, ordering: .relaxed) }
  }

  /// Sends RTCP to every viewer that plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.send(reports) }
  }

  /// Tells every viewer goodbye and closes its connection.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    for viewer in self.viewers { viewer.endStream(goodbyes) }
  }
}
