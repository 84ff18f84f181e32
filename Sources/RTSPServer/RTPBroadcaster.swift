internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import Streaming
internal import Synchronization
internal import Threading

/// The RTP output of a stream's main rendition, or of another one: packetizes each sample once and fans the packets out to the viewers of every event loop.
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

  private func requestKeyframe() {
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
    guard self.groups.contains(where: \.hasViewers) else { return }
    let now = self.now
    let needsKeyframe = self.state.withLock { state in
      let positions = state.tracks.positions(at: sample.presentationTime)
      let discards = self.counters.discards.load(ordering: .acquiring)
      var needsKeyframe = false
      for batch in state.tracks.packetize(sample) {
        let packets = SharedPackets(kind: sample.kind, batch: batch, positions: positions)
        let output = state.assembler.append(packets, discards: discards, at: now)
        if self.perform(output, at: now) { needsKeyframe = true }
      }
      return needsKeyframe
    }
    if needsKeyframe { self.requestKeyframe() }
  }

  /// The time of the event loops, which is virtual in tests.
  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.groups[0].eventLoop.now.uptimeNanoseconds))
  }

  /// Enqueues a delivery and schedules a timer; called with the state locked.
  ///
  /// - Returns: Whether packets were dropped, so that a keyframe is needed.
  private func perform(_ output: DeliveryAssembler.Output, at now: MediaTime) -> Bool {
    if let deadline = output.timer {
      self.groups[0].eventLoop.scheduleTask(in: .nanoseconds(max(0, (deadline - now).nanoseconds))) {
        self.sendWaitingAudio()
      }
    }
    guard let delivery = output.delivery else { return false }
    return self.enqueue(delivery)
  }

  private func enqueue(_ delivery: SharedDelivery) -> Bool {
    var needsKeyframe = false
    for group in self.groups where group.hasViewers {
      if group.enqueue(delivery) { needsKeyframe = true }
    }
    return needsKeyframe
  }

  /// Sends the audio that has waited for an access unit long enough.
  private func sendWaitingAudio() {
    let now = self.now
    let needsKeyframe = self.state.withLock { self.perform($0.assembler.handleTimer(at: now), at: now) }
    if needsKeyframe { self.requestKeyframe() }
  }

  func descriptionChanged(to description: CodecDescription) {
    self.state.withLock { $0.tracks.change(to: description) }
    self.onDescriptionChange(self)
  }

  /// Drops video packets that wait for an event loop, and disconnects viewers whose connections have data to send: it
  /// cannot be taken out.
  func discardEarlier() {
    self.counters.discards.add(1, ordering: .acquiringAndReleasing)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.discardEarlier() }
    }
  }

  func streamEnded() {
    self.state.withLock { state in
      if let audio = state.assembler.flush() { _ = self.enqueue(audio) }
    }
    let goodbyes = self.reports(isLast: true)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.endStream(goodbyes) }
    }
    self.onEnd(self)
  }

  /// Adds a viewer; called on its event loop. A viewer with video starts at the next keyframe, which is requested; a viewer
  /// with audio only starts at the next packet.
  func join(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    if self.group(on: eventLoop).add(viewer) { self.rendition?.beginUse() }
    if viewer.transports.video != nil { self.requestKeyframe() }
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
