internal import Authentication
internal import Delivery
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization
internal import Threading
internal import WebRTC

/// The WebRTC output of a stream's main rendition, or of another one: packetizes each sample once and fans it out to the viewers.
final class WebRTCBroadcaster: StreamOutput {
  let stream: LiveStream
  /// The rendition; nil for the main one.
  let rendition: StreamRendition?
  let counters: ViewerCounters
  /// Packets sent again to all viewers.
  let retransmittedPackets = Atomic(0)
  /// Keyframes that viewers asked for.
  let requestedKeyframes = Atomic(0)
  /// Sessions that ended before media could flow.
  let failedSessions = Atomic(0)
  private let hub: WebRTCHub
  private let broadcast: Broadcast<WebRTCTracks, WebRTCSender>
  private let budget = Mutex(KeyframeBudget())
  private let onEnd: @Sendable (WebRTCBroadcaster) -> Void

  init(
    stream: LiveStream, rendition: StreamRendition? = nil, descriptions: [CodecDescription], hub: WebRTCHub,
    refusals: RefusalCounters, onEnd: @escaping @Sendable (WebRTCBroadcaster) -> Void
  ) {
    self.counters = ViewerCounters(refusals: refusals)
    self.stream = stream
    self.rendition = rendition
    self.hub = hub
    self.onEnd = onEnd
    // Without a frame rate, audio does not wait for video: datagrams gain nothing by leaving together.
    self.broadcast = Broadcast(
      packetizer: WebRTCTracks(descriptions), frameRate: nil, eventLoops: [hub.eventLoop], counters: self.counters,
      keepsKeyframeGroup: false, makeSender: { _ in WebRTCSender(hub: hub) },
      requestKeyframe: { [weak stream] in
        if let rendition { rendition.requestKeyframe() } else { stream?.requestKeyframe() }
      })
  }

  /// The path in its addresses.
  var name: String { self.rendition.map { "\(self.stream.name)/\($0.name)" } ?? self.stream.name }

  /// Profile and level of the video; nil without.
  var video: H264ProfileLevel? { self.broadcast.withPacketizer { $0.video } }

  /// Whether there is audio that can be sent.
  var hasAudio: Bool { self.broadcast.withPacketizer { $0.hasAudio } }

  /// Counters of the viewers, and the maximum lag of the event loop.
  var statistics: WebRTCStreamStatistics {
    var statistics = WebRTCStreamStatistics(self.counters, loopLag: self.broadcast.lag)
    statistics.packetsRetransmitted = self.retransmittedPackets.load(ordering: .relaxed)
    statistics.keyframesRequested = self.requestedKeyframes.load(ordering: .relaxed)
    statistics.sessionsFailed = self.failedSessions.load(ordering: .relaxed)
    return statistics
  }

  /// Requests a keyframe for a viewer, within the budget of all.
  func requestKeyframe() {
    let now = self.hub.now
    if self.budget.withLock({ $0.request(at: now) }) { self.askForKeyframe() }
  }

  private func askForKeyframe() {
    if let rendition { rendition.requestKeyframe() } else { self.stream.requestKeyframe() }
  }

  func consume(_ sample: EncodedSample) {
    if sample.kind == .video {
      let now = self.hub.now
      let isDue = self.budget.withLock {
        $0.handleFrame(byteCount: sample.payload.readableBytes, isKeyframe: sample.isKeyframe, at: now)
      }
      if isDue { self.askForKeyframe() }
    }
    self.broadcast.consume(sample)
  }

  func descriptionChanged(to description: CodecDescription) {
    self.broadcast.change { $0.change(to: description) }
  }

  /// Drops frames that wait for the event loop or the network, and those that could be sent again.
  func discardEarlier() {
    let hub = self.hub
    self.broadcast.discardEarlier { group in hub.discardEarlier(of: Array(group.viewers)) }
  }

  func streamEnded() {
    self.broadcast.flush()
    self.hub.closeSessions(of: self)
    self.onEnd(self)
  }

  /// Adds a viewer that is ready; called on the event loop. It starts at the next keyframe, which is requested.
  func join(_ viewer: WebRTCViewer) {
    if self.broadcast.group(on: self.hub.eventLoop).add(viewer) { self.rendition?.beginUse() }
    if viewer.session.hasVideo { self.requestKeyframe() }
  }

  /// Removes a viewer; called on the event loop, without effect when it was not added.
  func leave(_ viewer: WebRTCViewer) {
    if self.broadcast.group(on: self.hub.eventLoop).remove(viewer) { self.rendition?.endUse() }
    if !self.broadcast.hasViewers { self.broadcast.withPacketizer { $0.stopAudio() } }
  }
}

/// Sends media to the viewers of one stream.
// Safe because it is used on the hub's event loop only.
final class WebRTCSender: DeliverySender, @unchecked Sendable {
  private let hub: WebRTCHub

  init(hub: WebRTCHub) {
    self.hub = hub
  }

  func send(
    _ deliveries: [SharedDelivery<WebRTCMedia>], to viewers: [ArraySlice<WebRTCViewer>], at now: MediaTime
  ) -> Int {
    self.hub.send(deliveries, to: viewers)
  }

  func viewerLeft(_ viewer: WebRTCViewer) {}
}
