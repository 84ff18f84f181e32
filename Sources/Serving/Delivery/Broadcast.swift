package import Media
package import NIOCore
internal import Synchronization

/// Packetizes each sample of a stream once, and fans the packets out to the viewers of every event loop.
///
/// ```
///  encoder's thread                      event loop 1                     connections
///
///  sample ─▶ Packetizer ─▶ Assembler ─┬─▶ DeliveryQueue ─▶ ViewerGroup ─▶ Sender ─┬─▶ viewer ─▶ socket
///            bytes of all   a frame   │   at most 60:      in turns with          ├─▶ viewer ─▶ socket
///            viewers, once  with the  │   when full, all   other groups           └─▶ viewer ─▶ queue, while the
///                           audio     │   are dropped                                  socket takes nothing:
///                           before it └─▶ DeliveryQueue ─▶ … event loop 2              1 s, then to a keyframe
/// ```
///
/// A frame costs one wake-up for each event loop with viewers, and one write for each viewer. Without viewers no sample is packetized.
/// The outputs of RTSP, RTMP and WebRTC have one each; ``ServedOutput`` says who calls it.
///
/// The output that has it calls ``consume(_:)`` on the encoder's threads, and adds viewers on the event loop of their connections:
///
/// ```swift
/// broadcast.consume(sample)
/// _ = broadcast.group(on: connection.eventLoop).add(viewer)
/// ```
package final class Broadcast<Packetizer: SharedMediaPacketizer, Sender: DeliverySender>: Sendable
where Sender.Packets == Packetizer.Packets {
  package typealias Delivery = SharedDelivery<Packetizer.Packets>

  /// Counters of the viewers on all event loops.
  package let counters: ViewerCounters
  /// The viewers of each event loop.
  package let groups: [ViewerGroup<Sender>]
  private let keepsKeyframeGroup: Bool
  private let requestKeyframe: @Sendable () -> Void
  // Locked while packets are built and enqueued, so that every event loop gets them in the order of their positions.
  private let state: Mutex<State>

  private struct State {
    var packetizer: Packetizer
    var assembler: DeliveryAssembler<Packetizer.Packets>
    var group = KeyframeGroup<Packetizer.Packets>()

    /// Packetizes the samples since the last keyframe from the time without viewers.
    mutating func packetizeGroup(discards: Int) {
      let time = self.group.lastTime
      for sample in self.group.takeSamples() {
        for packets in self.packetizer.packets(of: sample) {
          self.group.append(self.assembler.deliver(packets, discards: discards), at: time)
        }
      }
    }
  }

  /// A broadcast without viewers.
  ///
  /// - Parameters:
  ///   - frameRate: The video track's frames per second; nil without video.
  ///   - eventLoops: The event loops of the viewers' connections, at least one.
  ///   - keepsKeyframeGroup: Whether viewers may start with what followed the last keyframe.
  ///   - makeSender: Makes the sender of an event loop.
  ///   - requestKeyframe: Requests a keyframe of the encoder.
  package init(
    packetizer: Packetizer, frameRate: FrameRate?, eventLoops: [any EventLoop], counters: ViewerCounters,
    keepsKeyframeGroup: Bool, makeSender: (any EventLoop) -> Sender, requestKeyframe: @escaping @Sendable () -> Void
  ) {
    self.counters = counters
    self.keepsKeyframeGroup = keepsKeyframeGroup
    self.requestKeyframe = requestKeyframe
    self.state = Mutex(State(packetizer: packetizer, assembler: DeliveryAssembler(frameRate: frameRate)))
    self.groups = eventLoops.map { ViewerGroup(eventLoop: $0, counters: counters, sender: makeSender($0)) }
  }

  /// Reads or changes the packetizer, between two samples.
  package func withPacketizer<Result>(_ body: (inout Packetizer) -> sending Result) -> sending Result {
    self.state.withLock { body(&$0.packetizer) }
  }

  /// Changes the packetizer to other parameter sets: samples since the last keyframe are of the former.
  package func change(_ body: (inout Packetizer) -> Void) {
    self.state.withLock { state in
      state.group.removeAll()
      body(&state.packetizer)
    }
  }

  /// Packetizes a sample and enqueues the packets for every event loop; called on the stream's threads.
  package func consume(_ sample: EncodedSample) {
    let now = self.now
    let needsKeyframe = self.state.withLock { state in
      // Within the lock: a viewer that joins takes the group after it was counted.
      guard self.groups.contains(where: \.hasViewers) else {
        if self.keepsKeyframeGroup { state.group.append(sample, at: now) }
        return false
      }
      let discards = self.counters.discards.load(ordering: .acquiring)
      state.packetizeGroup(discards: discards)
      var needsKeyframe = false
      for packets in state.packetizer.packets(of: sample) {
        let output = state.assembler.append(packets, discards: discards, at: now)
        if self.perform(output, state: &state, at: now) { needsKeyframe = true }
      }
      return needsKeyframe
    }
    if needsKeyframe { self.requestKeyframe() }
  }

  /// The time of the event loops, which is virtual in tests.
  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.groups[0].eventLoop.now.uptimeNanoseconds))
  }

  /// Enqueues a delivery and schedules a timer.
  ///
  /// - Returns: Whether packets were dropped, so that a keyframe is needed.
  private func perform(
    _ output: DeliveryAssembler<Packetizer.Packets>.Output, state: inout State, at now: MediaTime
  ) -> Bool {
    if let deadline = output.timer {
      self.groups[0].eventLoop.scheduleTask(in: .nanoseconds(max(0, (deadline - now).nanoseconds))) {
        self.sendWaitingAudio()
      }
    }
    guard let delivery = output.delivery else { return false }
    return self.enqueue(delivery, state: &state, at: now)
  }

  private func enqueue(_ delivery: Delivery, state: inout State, at now: MediaTime) -> Bool {
    if self.keepsKeyframeGroup { state.group.append(delivery, at: now) }
    var needsKeyframe = false
    for group in self.groups where group.hasViewers {
      if group.enqueue(delivery) { needsKeyframe = true }
    }
    return needsKeyframe
  }

  /// Sends the audio that has waited for an access unit long enough.
  private func sendWaitingAudio() {
    let now = self.now
    let needsKeyframe = self.state.withLock { state in
      self.perform(state.assembler.handleTimer(at: now), state: &state, at: now)
    }
    if needsKeyframe { self.requestKeyframe() }
  }

  /// Drops video packets that wait for an event loop, which must not be shown any more.
  ///
  /// - Parameter body: Drops what a group's sender and viewers keep; called on the event loop of each group with viewers.
  package func discardEarlier(_ body: @escaping @Sendable (ViewerGroup<Sender>) -> Void) {
    self.counters.discards.add(1, ordering: .acquiringAndReleasing)
    self.state.withLock { $0.group.removeAll() }
    self.forEachGroup(body)
  }

  /// Sends the audio that waits, and every backlog without pauses, at the end of the stream: before tasks that event loops are given
  /// after this call.
  package func flush() {
    let now = self.now
    self.state.withLock { state in
      if let audio = state.assembler.flush() { _ = self.enqueue(audio, state: &state, at: now) }
    }
    self.forEachGroup { $0.sendBacklog() }
  }

  /// All deliveries since the last keyframe; nil when there are none.
  package func deliveriesSinceKeyframe() -> [Delivery]? {
    let now = self.now
    return self.state.withLock { state in
      state.packetizeGroup(discards: self.counters.discards.load(ordering: .acquiring))
      if let audio = state.assembler.flush() { _ = self.enqueue(audio, state: &state, at: now) }
      return state.group.deliveries(at: now)
    }
  }

  /// Calls `body` on the event loop of each group with viewers.
  package func forEachGroup(_ body: @escaping @Sendable (ViewerGroup<Sender>) -> Void) {
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { body(group) }
    }
  }

  /// Whether there is a viewer.
  package var hasViewers: Bool { self.groups.contains(where: \.hasViewers) }

  /// The group of an event loop, one of those in the initializer.
  package func group(on eventLoop: any EventLoop) -> ViewerGroup<Sender> {
    // No trap: connections are on the event loops that the server was initialized with.
    self.groups.first { $0.eventLoop === eventLoop }!
  }
}
