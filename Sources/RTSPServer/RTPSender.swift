internal import CDatagrams
internal import Media
internal import NIOCore
internal import RTP
internal import Serving
internal import Synchronization

/// Sends RTP packets to the viewers of one stream on one event loop: over their connections, and as datagrams.
// Safe because all properties are used on the event loop only.
final class RTPSender: DeliverySender, @unchecked Sendable {
  private let eventLoop: any EventLoop
  private let counters: ViewerCounters
  /// The UDP sockets; nil before the server listens, or without UDP.
  private let sockets: @Sendable () -> (any DatagramSending)?
  private let requestKeyframe: @Sendable () -> Void
  /// Destinations of the current datagrams, by delivery; a property to reuse its memory.
  private var datagrams: [DatagramDestinationLists] = []
  /// The datagrams that wait for the send buffer of a socket.
  private struct WaitingDatagrams {
    var queue = DatagramQueue()
    /// Whether it is sent when the socket has room.
    var isResumptionDue = false
  }

  /// By route, see ``DatagramSockets/route(from:)``: what waits for one network holds up no other.
  private var waitingDatagrams: [WaitingDatagrams] = []
  /// Viewers that are sent what followed the last keyframe, or over UDP what followed their first access unit.
  private var catchingUp: [RTPViewer] = []
  private var isCatchUpScheduled = false

  /// Keyframes that are sent in bursts.
  private var pacedKeyframes: [PacedKeyframe] = []
  private var isPacingScheduled = false
  /// Time over which a keyframe is spread, for viewers that lose packets: half a frame interval, so that the next access unit finds
  /// it sent.
  private let keyframeSpread: MediaDuration

  /// Interval between two frames of what followed the last keyframe over UDP: 200 in a second, since a player loses what it
  /// does not decode as fast.
  private static let catchUpInterval = TimeAmount.milliseconds(5)

  init(
    eventLoop: any EventLoop, frameRate: FrameRate?, counters: ViewerCounters,
    sockets: @escaping @Sendable () -> (any DatagramSending)?, requestKeyframe: @escaping @Sendable () -> Void
  ) {
    self.keyframeSpread = MediaDuration(nanoseconds: (frameRate?.frameInterval ?? .zero).nanoseconds / 2)
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
    for case .datagrams(let destinations)? in [viewer.transports.video, viewer.transports.audio]
    where destinations.route < self.waitingDatagrams.count {
      self.waitingDatagrams[destinations.route].queue.remove(destinations.rtp)
      for index in self.pacedKeyframes.indices { self.pacedKeyframes[index].remove(destinations.rtp) }
    }
  }

  func send(_ deliveries: [RTPDelivery], to viewers: [ArraySlice<RTPViewer>], at now: MediaTime) -> Int {
    if deliveries.contains(where: { $0.video != nil }) { self.finishPacedKeyframes() }
    return self.withDatagrams(of: deliveries) {
      var batch = InterleavedBatch(deliveries)
      var byteCount = 0
      for part in viewers {
        var index = part.startIndex
        while index < part.endIndex {
          byteCount += self.send(&batch, to: part, from: &index, at: now)
        }
      }
      return byteCount
    }
  }

  /// Sends deliveries to the viewers from an index on that have the same interleaved channels, at least one.
  ///
  /// - Returns: Number of bytes passed to their connections.
  private func send(
    _ batch: inout InterleavedBatch, to viewers: ArraySlice<RTPViewer>, from index: inout Int, at now: MediaTime
  ) -> Int {
    let channels = viewers[index].channels
    guard let buffer = batch.buffer(channels: channels) else {
      defer { index += 1 }
      return self.deliver(batch.deliveries, to: viewers[index], at: now)
    }
    return buffer.withUnsafeReadableBytes { bytes in
      var byteCount = 0
      while index < viewers.endIndex, viewers[index].channels == channels {
        if viewers[index].sendTogether(bytes, of: buffer, at: now) {
          byteCount += bytes.count
        } else {
          byteCount += self.deliver(batch.deliveries, to: viewers[index], at: now)
        }
        index += 1
      }
      return byteCount
    }
  }

  /// Sends deliveries to a viewer, which catches up later where it starts with them.
  private func deliver(_ deliveries: [RTPDelivery], to viewer: RTPViewer, at now: MediaTime) -> Int {
    let byteCount = viewer.deliver(deliveries, at: now, datagrams: &self.datagrams)
    if viewer.hasDatagrams, now < viewer.catchUpStart, !self.catchingUp.contains(where: { $0 === viewer }) {
      self.scheduleCatchUp(of: viewer, in: Self.catchUpInterval)
    }
    return byteCount
  }

  /// Sends the datagrams whose destinations `body` has appended for each delivery, and returns its result.
  private func withDatagrams(of deliveries: [RTPDelivery], _ body: () -> Int) -> Int {
    while self.datagrams.count < deliveries.count { self.datagrams.append(DatagramDestinationLists()) }
    let byteCount = body()
    for (index, delivery) in deliveries.enumerated() {
      for (route, destinations) in self.datagrams[index].routes.enumerated() {
        for packets in delivery.audio { self.send(packets, to: destinations.audio, route: route) }
        guard let video = delivery.video else { continue }
        self.send(video, to: destinations.video, route: route)
        self.pace(video, to: destinations.pacedVideo, route: route)
      }
      // Within one turn, what follows a keyframe follows all of it.
      if deliveries[(index + 1)...].contains(where: { $0.video != nil }) { self.finishPacedKeyframes() }
      self.datagrams[index].removeAll()
    }
    return byteCount
  }

  /// Starts a viewer with the deliveries since the last keyframe, which is in the first of them: as fast as its connection
  /// accepts them, and at a multiple of the frame rate over UDP.
  func start(_ viewer: RTPViewer, with deliveries: [RTPDelivery]) {
    viewer.catchUp(with: deliveries, at: self.now)
    // After the connection has handled PLAY: it is notified of unsent bytes between two writes only.
    self.scheduleCatchUp(of: viewer, in: .zero)
  }

  private func scheduleCatchUp(of viewer: RTPViewer, in time: TimeAmount) {
    self.catchingUp.append(viewer)
    guard !self.isCatchUpScheduled else { return }
    self.isCatchUpScheduled = true
    self.eventLoop.scheduleTask(in: time) { self.sendCatchUp() }
  }

  /// Sends every viewer that catches up what is next, until none does.
  private func sendCatchUp() {
    let now = self.now
    for viewer in self.catchingUp {
      if viewer.hasDatagrams { self.sendCatchUp(to: viewer, at: now) } else { viewer.sendCatchUp(at: now) }
    }
    // Over a connection the viewer goes on by itself.
    self.catchingUp.removeAll { !$0.hasDatagrams || !$0.isCatchingUp && now >= $0.catchUpStart }
    self.isCatchUpScheduled = !self.catchingUp.isEmpty
    guard self.isCatchUpScheduled else { return }
    self.eventLoop.scheduleTask(in: Self.catchUpInterval) { self.sendCatchUp() }
  }

  /// Sends a viewer with datagrams its next delivery.
  private func sendCatchUp(to viewer: RTPViewer, at now: MediaTime) {
    guard now >= viewer.catchUpStart, let delivery = viewer.nextCatchUp(),
      delivery.video == nil || delivery.discards == self.counters.discards.load(ordering: .acquiring)
    else { return }
    let byteCount = self.withDatagrams(of: [delivery]) {
      viewer.send([delivery], at: now, datagrams: &self.datagrams)
    }
    if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
  }

  /// Sends packets as datagrams, in as few calls as possible; those beyond the send buffer wait.
  ///
  /// - Parameter runs: The datagrams; nil for all of the packets.
  private func send(
    _ packets: SharedPackets, runs: [RTPPacketBatch.DatagramRun]? = nil, to destinations: [vidicon_destination],
    route: Int
  ) {
    guard !destinations.isEmpty else { return }
    while self.waitingDatagrams.count <= route { self.waitingDatagrams.append(WaitingDatagrams()) }
    let outcome = self.waitingDatagrams[route].queue.append(
      packets, runs: runs, to: destinations, at: self.now)
    if outcome.dropped > 0 { self.counters.countDroppedDatagrams(outcome.dropped) }
    if outcome.needsKeyframe { self.requestKeyframe() }
    if !self.waitingDatagrams[route].isResumptionDue { self.sendWaitingDatagrams(route: route) }
  }

  /// Sends the datagrams that wait, and the rest when the send buffer has room.
  private func sendWaitingDatagrams(route: Int) {
    self.waitingDatagrams[route].isResumptionDue = false
    guard let sockets = self.sockets() else { return }
    var (unreachable, byteCount, lacksMemory) = (0, 0, false)
    let isComplete = self.waitingDatagrams[route].queue.drain { send in
      let result = sockets.sendRTP(&send, route: route)
      unreachable += result.unreachable
      byteCount += result.byteCount
      lacksMemory = result.lacksMemory
    }
    if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
    if unreachable > 0 { self.counters.countDroppedDatagrams(unreachable) }
    guard !isComplete else { return }
    self.waitingDatagrams[route].isResumptionDue = true
    sockets.resume(route: route, afterDelay: lacksMemory, on: self.eventLoop) {
      self.sendWaitingDatagrams(route: route)
    }
  }

  /// Sends a keyframe in bursts, the first of them now.
  private func pace(_ packets: SharedPackets, to destinations: [vidicon_destination], route: Int) {
    guard !destinations.isEmpty else { return }
    self.pacedKeyframes.append(
      PacedKeyframe(packets, to: destinations, route: route, over: self.keyframeSpread, from: self.now))
    self.sendPacedKeyframes()
  }

  /// Sends the bursts that are due, and schedules the next.
  private func sendPacedKeyframes() {
    let now = self.now
    for index in self.pacedKeyframes.indices {
      while let burst = self.pacedKeyframes[index].takeBurst(at: now) {
        let keyframe = self.pacedKeyframes[index]
        self.send(keyframe.packets, runs: [burst], to: keyframe.destinations, route: keyframe.route)
      }
    }
    self.pacedKeyframes.removeAll { $0.isComplete }
    guard !self.isPacingScheduled, let deadline = self.pacedKeyframes.compactMap(\.nextDeadline).min() else { return }
    self.isPacingScheduled = true
    self.eventLoop.scheduleTask(in: .nanoseconds((deadline - now).nanoseconds)) {
      self.isPacingScheduled = false
      self.sendPacedKeyframes()
    }
  }

  /// Sends all bursts that are left, before a later access unit.
  private func finishPacedKeyframes() {
    guard !self.pacedKeyframes.isEmpty else { return }
    let keyframes = self.pacedKeyframes
    self.pacedKeyframes.removeAll()
    for var keyframe in keyframes {
      self.send(
        keyframe.packets, runs: keyframe.takeRest(), to: keyframe.destinations, route: keyframe.route)
    }
  }

  /// Drops the video that waits to be sent over UDP.
  func discardVideo() {
    self.pacedKeyframes.removeAll()
    for route in self.waitingDatagrams.indices { self.waitingDatagrams[route].queue.discardVideo() }
  }
}
