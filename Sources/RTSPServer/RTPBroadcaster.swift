internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import Streaming
internal import Synchronization
internal import Threading

/// The RTP output of a stream's main rendition, or of another one: packetizes each sample once and fans the packets out to the
/// viewers of every event loop.
///
/// All viewers get the same packets, with the same SSRC and sequence numbers, as with multicast. Without viewers no sample
/// is packetized.
final class RTPBroadcaster: StreamOutput {
  let stream: LiveStream
  /// The rendition; nil for the main one.
  let rendition: StreamRendition?
  let counters: ViewerCounters
  private let groups: [ViewerGroup]
  private let onDescriptionChange: @Sendable (RTPBroadcaster) -> Void
  private let onEnd: @Sendable (RTPBroadcaster) -> Void
  // Locked while packets are built and enqueued, so that every event loop gets them in the order of their positions.
  private let state: Mutex<State>

  private struct State {
    var tracks: RTPTracks
    var assembler: DeliveryAssembler
    var group = KeyframeGroup()

    /// Packetizes a sample; empty when it is malformed.
    mutating func packetize(_ sample: EncodedSample) -> [SharedPackets] {
      let positions = self.tracks.positions(at: sample.presentationTime)
      return self.tracks.packetize(sample).map { SharedPackets(kind: sample.kind, batch: $0, positions: positions) }
    }

    /// Packetizes the samples since the last keyframe from the time without viewers.
    mutating func packetizeGroup(discards: Int) {
      let time = self.group.lastTime
      for sample in self.group.takeSamples() {
        for packets in self.packetize(sample) {
          self.group.append(self.assembler.deliver(packets, discards: discards), at: time)
        }
      }
    }
  }

  init(
    stream: LiveStream, rendition: StreamRendition? = nil, descriptions: [CodecDescription],
    eventLoops: [any EventLoop], sockets: @escaping @Sendable () -> DatagramSockets?, refusals: RefusalCounters,
    onDescriptionChange: @escaping @Sendable (RTPBroadcaster) -> Void,
    onEnd: @escaping @Sendable (RTPBroadcaster) -> Void
  ) {
    let counters = ViewerCounters(refusals: refusals)
    self.counters = counters
    self.stream = stream
    self.rendition = rendition
    self.onDescriptionChange = onDescriptionChange
    self.onEnd = onEnd
    let frameRate = descriptions.lazy.compactMap { description in
      if case .h264(let video) = description { video.frameRate } else { nil }
    }.first
    self.state = Mutex(
      State(tracks: RTPTracks(descriptions), assembler: DeliveryAssembler(frameRate: frameRate)))
    self.groups = eventLoops.map { eventLoop in
      ViewerGroup(eventLoop: eventLoop, counters: counters, sockets: sockets) { [weak stream] in
        if let rendition { rendition.requestKeyframe() } else { stream?.requestKeyframe() }
      }
    }
  }

  /// The path in its addresses.
  var name: String { self.rendition.map { "\(self.stream.name)/\($0.name)" } ?? self.stream.name }

  /// Target bitrate of the video, in bits per second.
  var videoBitrate: Int { self.rendition?.bitrate ?? self.stream.videoBitrate }

  /// Requests a keyframe of the encoder.
  func requestKeyframe() {
    if let rendition { rendition.requestKeyframe() } else { self.stream.requestKeyframe() }
  }

  /// Counters of the stream's viewers, and the maximum lag of the event loops.
  var statistics: RTSPStreamStatistics {
    var statistics = self.counters.statistics
    statistics.loopLag = self.groups.lazy.map(\.lag).max() ?? .zero
    return statistics
  }

  /// SSRC, sequence number and clock of each track.
  var senderStates: PerTrack<RTPSenderState> {
    self.state.withLock { $0.tracks.senderStates }
  }

  /// The codec of each track, video first.
  var descriptions: [CodecDescription] {
    self.state.withLock { $0.tracks.descriptions }
  }

  func consume(_ sample: EncodedSample) {
    let now = self.now
    let needsKeyframe = self.state.withLock { state in
      // Within the lock: a viewer that joins takes the group after it was counted.
      guard self.groups.contains(where: \.hasViewers) else {
        state.group.append(sample, at: now)
        return false
      }
      let discards = self.counters.discards.load(ordering: .acquiring)
      state.packetizeGroup(discards: discards)
      var needsKeyframe = false
      for packets in state.packetize(sample) {
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
  private func perform(_ output: DeliveryAssembler.Output, state: inout State, at now: MediaTime) -> Bool {
    if let deadline = output.timer {
      self.groups[0].eventLoop.scheduleTask(in: .nanoseconds(max(0, (deadline - now).nanoseconds))) {
        self.sendWaitingAudio()
      }
    }
    guard let delivery = output.delivery else { return false }
    return self.enqueue(delivery, state: &state, at: now)
  }

  private func enqueue(_ delivery: SharedDelivery, state: inout State, at now: MediaTime) -> Bool {
    state.group.append(delivery, at: now)
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

  func descriptionChanged(to description: CodecDescription) {
    self.state.withLock { state in
      // Its samples are of the former parameter sets.
      state.group.removeAll()
      state.tracks.change(to: description)
    }
    self.onDescriptionChange(self)
  }

  /// Drops video packets that wait for an event loop, and disconnects viewers whose connections have data to send: it
  /// cannot be taken out.
  func discardEarlier() {
    self.counters.discards.add(1, ordering: .acquiringAndReleasing)
    self.state.withLock { $0.group.removeAll() }
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.discardEarlier() }
    }
  }

  func streamEnded() {
    let now = self.now
    self.state.withLock { state in
      if let audio = state.assembler.flush() { _ = self.enqueue(audio, state: &state, at: now) }
    }
    let goodbyes = self.reports(isLast: true)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.endStream(goodbyes) }
    }
    self.onEnd(self)
  }

  /// Adds a viewer; called on its event loop. A viewer with video starts at the next keyframe, which is requested, or at the
  /// last one; a viewer with audio only starts at the next packet.
  ///
  /// - Parameter startsCached: Whether a viewer with video is sent everything since the last keyframe at once.
  func join(_ viewer: RTPViewer, on eventLoop: any EventLoop, startsCached: Bool) {
    let group = self.group(on: eventLoop)
    if group.add(viewer) { self.rendition?.beginUse() }
    guard viewer.transports.video != nil else { return }
    if startsCached, let deliveries = self.deliveriesSinceKeyframe() {
      group.start(viewer, with: deliveries)
    } else {
      self.requestKeyframe()
    }
  }

  /// All deliveries since the last keyframe; nil when there are none.
  private func deliveriesSinceKeyframe() -> [SharedDelivery]? {
    let now = self.now
    return self.state.withLock { state in
      state.packetizeGroup(discards: self.counters.discards.load(ordering: .acquiring))
      if let audio = state.assembler.flush() { _ = self.enqueue(audio, state: &state, at: now) }
      return state.group.deliveries(at: now)
    }
  }

  /// Removes a viewer; called on its event loop, without effect when it was not added.
  func leave(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    if self.group(on: eventLoop).remove(viewer) { self.rendition?.endUse() }
  }

  /// A sender report for each track at the current time, RFC 3550 §6.4.1.
  func reports(isLast: Bool = false) -> PerTrack<ByteBuffer> {
    let clock = StreamClock.system
    let now = clock.now()
    return self.state.withLock { $0.tracks.reports(at: now, unixTime: clock.unixTime(at: now), isLast: isLast) }
  }

  /// Sends current sender reports to every viewer that plays.
  func sendReports() {
    guard self.groups.contains(where: \.hasViewers) else { return }
    let reports = self.reports()
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.send(reports) }
    }
  }

  private func group(on eventLoop: any EventLoop) -> ViewerGroup {
    // No trap: connections are on the event loops that the server was initialized with.
    self.groups.first { $0.eventLoop === eventLoop }!
  }
}
