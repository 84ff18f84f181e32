internal import Authentication
package import Media
internal import NIOCore
internal import RTP
package import Serving
package import Streaming
internal import Synchronization
internal import Threading
internal import WebRTC

/// The WebRTC output of a rendition: packetizes each sample once and fans it out to the viewers.
package final class WebRTCOutput: ServedOutput {
  package let rendition: Rendition
  /// The rendition that this is a transcoding of; nil where it is none.
  private let original: Rendition?
  package var requested: Rendition { self.original ?? self.rendition }
  /// Packetization mode of the video: 0 where each slice is a packet.
  let packetizationMode: H264PacketizationMode
  let counters: ViewerCounters
  /// Packets sent again to all viewers.
  let retransmittedPackets = Atomic(0)
  /// Number of keyframes that viewers requested.
  let requestedKeyframes = Atomic(0)
  /// Sessions that ended before media could flow.
  let failedSessions = Mutex<[WebRTCSessionFailure: Int]>([:])
  /// Number of viewers that were answered an audio track; changed on the hub's event loop.
  private let listeners = Atomic(0)
  private let hub: WebRTCHub
  private let broadcast: Broadcast<WebRTCStreamPacketizer, WebRTCSender>
  private let budget: Mutex<KeyframeBudget>
  /// The rule of the encoder's bitrate, on the hub's event loop; nil while it follows no viewer.
  private let soleViewer = Mutex<SoleViewerBitrate?>(nil)
  /// Bits per second of a transcoding while its encoder follows no viewer.
  private let chosenBitrate: Atomic<Int>
  private let findLowerRenditions: @Sendable () -> [WebRTCLowerRendition]
  private let transcode: Transcode
  /// Counters of each viewer that was opened for this, as of the last second.
  let viewerList = Mutex<[WebRTCViewerStatistics]>([])
  private let onEnd: @Sendable (WebRTCOutput) -> Void
  private let ended = Atomic(false)

  /// Receives an output that was found; called on any thread, with nil when there is none.
  typealias Completion = @Sendable (WebRTCOutput?) -> Void

  /// Finds the transcoding of an output for clients of a packetization mode.
  typealias Transcode =
    @Sendable (WebRTCOutput, H264PacketizationMode, _ completion: @escaping Completion) -> Void

  init(
    _ rendition: Rendition, original: Rendition? = nil, descriptions: [CodecDescription], hub: WebRTCHub,
    refusals: RefusalCounters,
    lowerRenditions: @escaping @Sendable () -> [WebRTCLowerRendition] = { [] },
    transcode: @escaping Transcode = { $2(nil) },
    onEnd: @escaping @Sendable (WebRTCOutput) -> Void
  ) {
    self.counters = ViewerCounters(refusals: refusals)
    self.rendition = rendition
    self.original = original
    let bitrate = rendition.bitrate
    self.budget = Mutex(KeyframeBudget(bitrate: bitrate))
    self.chosenBitrate = Atomic(bitrate)
    self.hub = hub
    self.findLowerRenditions = lowerRenditions
    self.transcode = transcode
    self.onEnd = onEnd
    let mode: H264PacketizationMode =
      rendition.encoding?.maximumSliceLength == nil ? .nonInterleaved : .singleNALUnit
    self.packetizationMode = mode
    // Without a frame rate, audio does not wait for video: datagrams gain nothing by leaving together.
    self.broadcast = Broadcast(
      packetizer: WebRTCStreamPacketizer(descriptions, mode: mode), frameRate: nil, eventLoops: [hub.eventLoop],
      counters: self.counters,
      keepsKeyframeGroup: false, makeSender: { _ in WebRTCSender(hub: hub) },
      requestKeyframe: { rendition.forceKeyframe() })
    self.broadcast.group(on: hub.eventLoop).sender.output = self
  }

  /// Profile and level of the video; nil without.
  var video: H264ProfileLevel? { self.broadcast.withPacketizer { $0.video } }

  /// Whether there is audio that can be sent.
  var hasAudio: Bool { self.broadcast.withPacketizer { $0.hasAudio } }

  /// Finds the transcoding of this to Constrained Baseline for a packetization mode, after its encoder was opened if need be.
  func findTranscoding(for mode: H264PacketizationMode, _ completion: @escaping Completion) {
    self.transcode(self, mode, completion)
  }

  /// The transcoding, as ``findTranscoding(for:_:)`` finds it.
  func transcoding(for mode: H264PacketizationMode) async -> WebRTCOutput? {
    await withCheckedContinuation { continuation in
      self.findTranscoding(for: mode) { continuation.resume(returning: $0) }
    }
  }

  /// Whether audio is encoded: while a viewer listens, from the next sample on.
  var isEncodingAudio: Bool { self.broadcast.withPacketizer { $0.isEncodingAudio } }

  /// Counters of the viewers, and the maximum lag of the event loop.
  package var statistics: ViewerStatistics {
    var statistics = self.broadcast.statistics
    statistics.packetsRetransmitted = self.retransmittedPackets.load(ordering: .relaxed)
    statistics.keyframesRequested = self.requestedKeyframes.load(ordering: .relaxed)
    statistics.sessionsFailed = self.failedSessions.withLock { $0 }
    statistics.viewerList = self.viewerList.withLock { $0 }
    return statistics
  }

  /// Requests a keyframe for a viewer, within the budget of all.
  func requestKeyframe() {
    let now = self.hub.now
    // A viewer of a smaller rendition costs those of the others nothing.
    if self.budget.withLock({ $0.request(at: now) }) { self.rendition.forceKeyframe() }
  }

  package var hasConsumers: Bool { self.broadcast.hasViewers }

  package func consume(_ sample: EncodedSample) {
    if sample.kind == .video, sample.isKeyframe {
      let now = self.hub.now
      self.budget.withLock { $0.handleKeyframe(byteCount: sample.payload.readableBytes, at: now) }
    }
    self.broadcast.consume(sample)
  }

  package func descriptionChanged(to description: CodecDescription) {
    var isOtherVideo = false
    self.broadcast.change { tracks in
      let video = tracks.video
      tracks.change(to: description)
      isOtherVideo = tracks.video != video
    }
    // Before the samples that follow, which come to the event loop behind this.
    if isOtherVideo { self.hub.eventLoop.execute { self.hub.checkDecoders(of: self) } }
  }

  /// Drops frames that wait for the event loop or the network, and those that could be sent again.
  package func discardEarlier() {
    let hub = self.hub
    self.broadcast.discardEarlier { group in hub.discardEarlier(of: Array(group.viewers)) }
  }

  /// Whether its rendition has ended: no session is opened for it any more.
  var hasEnded: Bool { self.ended.load(ordering: .relaxed) }

  package func streamEnded() {
    self.broadcast.flush()
    // Before sessions are closed: none is opened for it from now on.
    self.ended.store(true, ordering: .relaxed)
    self.onEnd(self)
    self.hub.closeSessions(of: self)
  }

  /// Adds a viewer that is ready; called on the event loop. It starts at the next keyframe, which is requested.
  func join(_ viewer: WebRTCViewer) {
    if self.broadcast.group(on: self.hub.eventLoop).add(viewer) {
      self.rendition.beginUse()
      if viewer.session.hasAudio { self.changeListeners(by: 1) }
    }
    if viewer.session.hasVideo { self.requestKeyframe() }
  }

  /// Removes a viewer; called on the event loop, without effect when it was not added.
  func leave(_ viewer: WebRTCViewer) {
    if self.broadcast.group(on: self.hub.eventLoop).remove(viewer) {
      self.rendition.endUse()
      if viewer.session.hasAudio { self.changeListeners(by: -1) }
    }
    if !self.broadcast.hasViewers { self.follow(nil, at: self.hub.now) }
  }

  private func changeListeners(by count: Int) {
    let isWanted = self.listeners.add(count, ordering: .relaxed).newValue > 0
    self.broadcast.withPacketizer { if $0.isAudioWanted != isWanted { $0.isAudioWanted = isWanted } }
  }
}

// MARK: Bitrates

extension WebRTCOutput {
  /// Bits per second of audio with headers, where there is any.
  private static let audioBitrate = 90_000
  /// Share of the configured bitrate below which its only viewer gets a smaller rendition, and what it must have more than
  /// that one.
  private static let (minimumShare, lowerRenditionFactor) = (8, 5.0 / 4)
  private static let minimumBitrate = 150_000

  /// The renditions that a viewer of the main one may get instead, from the highest bitrate to the lowest.
  var lowerRenditions: [WebRTCLowerRendition] {
    let main = self.stream.videoBitrate
    return self.findLowerRenditions().filter { $0.bitrate < main }.sorted { $0.bitrate > $1.bitrate }
  }

  /// Bits per second of video and audio.
  var bitrate: Int { self.rendition.currentBitrate + self.audioBitrate }

  /// Bits per second of audio with headers; 0 without.
  var audioBitrate: Int { self.hasAudio ? Self.audioBitrate : 0 }

  /// Whether one viewer of the main rendition, or of a transcoding of that, is the only consumer of its encoder. A transcoding has no
  /// others.
  var hasSoleViewer: Bool {
    guard self.counters.viewers.load(ordering: .relaxed) == 1 else { return false }
    return !self.rendition.isMain || self.stream.followsBitrate && !self.stream.hasConsumers(besides: self)
  }

  /// Bits per second of the video while the encoder follows no viewer.
  private var configuredVideoBitrate: Int {
    self.rendition.isMain ? self.stream.videoBitrate : self.chosenBitrate.load(ordering: .relaxed)
  }

  /// Maximum bitrate of a source that is passed through and encoded again, in bits per second.
  private static let maximumTranscodingBitrate = 6_000_000

  /// Bits per second of a transcoding while it follows no viewer: those of the encoder, or of the source that is passed through.
  static func transcodingBitrate(of original: Rendition) -> Int {
    guard original.isPassedThrough else { return original.bitrate }
    return min(max(original.stream.averageVideoBitrate ?? 0, original.bitrate), Self.maximumTranscodingBitrate)
  }

  /// Whether it is known to have keyframes that are not requested: those of an encoder for all.
  var hasRegularKeyframes: Bool { self.original == nil && !self.rendition.isPassedThrough }

  /// Lets a transcoding have the bitrate that was chosen since, and meets requests for keyframes that have waited; called some ten
  /// times a second.
  func update(at now: MediaTime) {
    self.followConfiguration()
    // The average of a still source that is passed through is far below what its viewers may have.
    let bitrate = max(self.bitrate, self.rendition.isPassedThrough ? self.configuredBitrate : 0)
    let isDue = self.budget.withLock { budget in
      budget.bitrate = bitrate
      return budget.handleTimeout(at: now)
    }
    if isDue { self.rendition.forceKeyframe() }
  }

  /// Factor by which the average bitrate of a source that is passed through has to change for its transcoding.
  private static let worthwhileChange = 1.25

  private func followConfiguration() {
    guard let original else { return }
    let (former, bitrate) = (self.configuredVideoBitrate, Self.transcodingBitrate(of: original))
    let change = Double(max(former, bitrate)) / Double(max(1, min(former, bitrate)))
    guard change > (original.isPassedThrough ? Self.worthwhileChange : 1) else { return }
    self.chosenBitrate.store(bitrate, ordering: .relaxed)
    if self.soleViewer.withLock({ $0 == nil }) { self.rendition.bitrate = bitrate }
  }

  /// Bits per second of video and audio while the encoder follows no viewer.
  var configuredBitrate: Int { self.configuredVideoBitrate + self.audioBitrate }

  /// Bits per second of video and audio that the encoder can be lowered to for its only viewer.
  func minimumBitrate(_ lower: [WebRTCLowerRendition]) -> Int {
    self.soleBounds(lower).lowerBound + self.audioBitrate
  }

  private func soleBounds(_ lower: [WebRTCLowerRendition]) -> ClosedRange<Int> {
    let configured = self.configuredVideoBitrate
    let minimum = lower.first.map { Int(Double($0.bitrate) * Self.lowerRenditionFactor) } ?? Self.minimumBitrate
    return min(max(minimum, configured / Self.minimumShare), configured)...configured
  }

  /// Lets the encoder follow the estimate of its only viewer.
  ///
  /// - Parameter estimate: Bits per second; nil when there is no such viewer, or nothing is known of it.
  func follow(_ estimate: Int?, at now: MediaTime) {
    guard estimate != nil || self.soleViewer.withLock({ $0 != nil }) else { return }
    let bounds = self.soleBounds(self.lowerRenditions)
    let bitrate = self.soleViewer.withLock { rule -> Int?? in
      var current = rule ?? SoleViewerBitrate(bounds: bounds)
      // Either may have changed since.
      (current.bounds, current.bitrate) = (bounds, self.rendition.currentBitrate)
      let change = current.update(estimate: estimate, audioBitrate: self.audioBitrate, at: now)
      rule = estimate == nil ? nil : current
      if estimate == nil { return .some(nil) }
      return change.map { $0 }
    }
    guard let bitrate else { return }
    if self.rendition.isMain {
      self.stream.viewerBitrate = bitrate
    } else {
      self.rendition.bitrate = bitrate ?? self.configuredVideoBitrate
    }
  }
}

/// Sends media to the viewers of one stream.
// Safe because it is used on the hub's event loop only.
final class WebRTCSender: DeliverySender, @unchecked Sendable {
  private let hub: WebRTCHub
  /// Output of the media.
  weak var output: WebRTCOutput?

  init(hub: WebRTCHub) {
    self.hub = hub
  }

  func send(
    _ deliveries: [SharedDelivery<WebRTCMedia>], to viewers: [ArraySlice<WebRTCViewer>], at now: MediaTime
  ) -> Int {
    guard let output else { return 0 }
    return self.hub.send(deliveries, of: output, to: viewers)
  }

  func viewerLeft(_ viewer: WebRTCViewer) {}
}
