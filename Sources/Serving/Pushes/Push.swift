internal import Media
internal import NIOCore
internal import Pushing
internal import Streaming
internal import Synchronization
internal import Threading

/// Pushes a stream to one server: performs what ``PushSender`` decides, on the event loop of the pushes.
// Safe because all properties but the inbox and the locked report are used on the event loop only.
final class Push: @unchecked Sendable {
  let id: Int
  let target: PushTarget
  /// Number among the pushes of all streams.
  private let encodingID: Int
  /// The rendition that the target names.
  private let rendition: Rendition
  private var stream: LiveStream { self.rendition.stream }
  private let service: PushService
  private let eventLoop: any EventLoop
  private let report: @Sendable (PushEvent) -> Void
  private let currentStatus: Mutex<PushStatus>
  private let clock = StreamClock.system
  private let inbox: PushInbox

  private var sender: PushSender
  private var taps: [(tap: PushTap, remove: () -> Void)] = []
  private var isRenditionUsed = false
  /// The encoding of this push alone, and the number of its samples' source.
  private var own: (rendition: Rendition, source: PushInbox.Source)?
  private var lastSource: PushInbox.Source = 1
  /// Encoding whose video is sent.
  private var videoSource: PushInbox.Source
  private var videoDescriptions: [PushInbox.Source: CodecDescription] = [:]
  private var audioDescription: CodecDescription?
  /// The connections to the server.
  private lazy var link = self.service.makeLink(self.target.destination, self.connector) { [weak self] event in
    self?.handle(event)
  }
  private let connector: PushConnector
  private var isAccepted = false
  /// Maximum bitrate of the passed-through source during this connection, in bits per second, and the time of its last
  /// measurement.
  private var passedThrough: (bitrate: Int, lookedAt: MediaTime) = (0, .zero)
  private var timer: (task: Scheduled<Void>, deadline: MediaTime)?
  private var lastPhase = PushStatus.Phase.stopped
  /// Reason that was reported since the last connection.
  private var reportedFailure: String?

  /// Source numbers of the main rendition, which has the audio, and of another one that the target names.
  private static let mainSource = 0
  private static let renditionSource = 1

  /// Source number of the rendition that the target names.
  private var sharedSource: PushInbox.Source { self.rendition.isMain ? Self.mainSource : Self.renditionSource }

  /// Minimum bitrate of an encoding of its own, as a share of the stream's, and in bits per second.
  private static let minimumShare = 8
  private static let minimumBitrate = 100_000
  /// Interval between two looks at the stream's bitrate.
  private static let bitrateInterval = MediaDuration.seconds(1)

  /// Calls an action that is set later: the inbox exists before the push whose event loop it wakes.
  private final class LateAction: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)
    func set(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }
    func callAsFunction() { self.action.withLock { $0 }?() }
  }

  init(
    id: Int, target: PushTarget, rendition: Rendition, service: PushService, eventLoop: any EventLoop,
    allowsLinkLocal: Bool, report: @escaping @Sendable (PushEvent) -> Void
  ) {
    self.id = id
    self.target = target
    self.rendition = rendition
    self.videoSource = rendition.isMain ? Self.mainSource : Self.renditionSource
    self.service = service
    self.encodingID = service.makeID()
    self.eventLoop = eventLoop
    self.connector = PushConnector(service, eventLoop: eventLoop, allowsLinkLocal: allowsLinkLocal)
    self.report = report
    let wakeUp = LateAction()
    self.inbox = PushInbox { wakeUp() }
    var settings = PushSettings(bitrate: 1)
    settings.hasVideo = rendition.stream.descriptions.contains { $0.kind == .video }
    settings.alwaysHasOwnEncoding = target.bitrate != nil
    self.sender = PushSender(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
    self.currentStatus = Mutex(PushStatus())
    wakeUp.set { [weak self] in self?.eventLoop.execute { [weak self] in self?.drain() } }
  }

  /// State and counters; on any thread.
  var status: PushStatus { self.currentStatus.withLock { $0 } }

  /// Starts the push.
  func start() {
    self.eventLoop.execute {
      var settings = PushSettings(
        hasVideo: self.stream.descriptions.contains { $0.kind == .video }, bitrate: self.bitrate,
        minimumBitrate: self.target.isAdaptive ? max(Self.minimumBitrate, self.bitrate / Self.minimumShare) : nil)
      settings.alwaysHasOwnEncoding = self.target.bitrate != nil
      settings.sharedBitrate = self.sharedBitrate
      settings.hasEstimate = type(of: self.link).hasEstimate
      self.sender = PushSender(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
      self.addTap(source: Self.mainSource, takesAudio: true, to: self.stream.main)
      if !self.rendition.isMain { self.addTap(source: Self.renditionSource, takesAudio: false, to: self.rendition) }
      self.perform(self.sender.start(now: self.clock.now()))
    }
  }

  /// Stops the push; completes when the server knows.
  func stop() -> EventLoopFuture<Void> {
    self.eventLoop.flatSubmit {
      self.end()
      return self.link.farewell
    }
  }

  private func end() {
    self.perform(self.sender.stop(now: self.clock.now()))
    for tap in self.taps { tap.remove() }
    self.taps = []
    self.timer?.task.cancel()
    self.timer = nil
  }

  private func addTap(source: PushInbox.Source, takesAudio: Bool, to rendition: Rendition) {
    let tap = PushTap(self.inbox, source: source, takesAudio: takesAudio)
    rendition.add(tap)
    self.taps.append((tap, { rendition.remove(tap) }))
  }

  private func removeTap(source: PushInbox.Source) {
    for tap in self.taps where tap.tap.source == source { tap.remove() }
    self.taps.removeAll { $0.tap.source == source }
    self.videoDescriptions[source] = nil
  }

  /// Bitrate of the video that is sent while the link carries it, in bits per second.
  private var bitrate: Int {
    self.target.bitrate ?? self.sharedBitrate
  }

  /// Bitrate of the encoding that is shared with viewers: what a source that is passed through sends is not the one that was chosen.
  private var sharedBitrate: Int {
    self.rendition.isMain ? max(self.rendition.bitrate, self.passedThrough.bitrate) : self.rendition.bitrate
  }

  /// Follows changes of the stream's bitrate.
  private func followBitrate(at now: MediaTime) {
    guard now - self.passedThrough.lookedAt >= Self.bitrateInterval else { return }
    self.passedThrough.lookedAt = now
    if self.stream.isPassedThrough {
      // Only upwards: a source that sends little for a while is not one whose link has fallen short.
      self.passedThrough.bitrate = max(self.passedThrough.bitrate, self.stream.averageVideoBitrate ?? 0)
    } else {
      self.passedThrough.bitrate = 0
    }
    let actions = self.sender.setBitrates(self.bitrate, shared: self.sharedBitrate)
    if !actions.isEmpty { self.perform(actions) }
    self.link.follow(bitrate: self.sender.status(at: now).bitrate, maximum: self.bitrate)
  }
}

// MARK: Samples

extension Push {
  /// Dequeues the samples and events that the stream's threads have enqueued.
  private func drain() {
    let items = self.inbox.dequeueAll()
    if self.isAccepted { self.measure() }
    for item in items {
      switch item {
      case .sample(let sample, let source):
        guard sample.kind == .audio || source == self.videoSource else { continue }
        self.perform(self.sender.enqueue(sample, now: self.clock.now()))
      case .description(let description, let source): self.describe(description, of: source)
      case .discardEarlier:
        self.link.discardEarlier()
        let unsentByteCount = self.link.unsentByteCount
        self.perform(self.sender.discardEarlier(unsentByteCount: unsentByteCount, now: self.clock.now()))
        self.inbox.discarded()
      case .ended(let source): self.sourceEnded(source)
      }
    }
  }

  private func describe(_ description: CodecDescription, of source: PushInbox.Source) {
    if description.kind == .audio {
      guard self.audioDescription != description else { return }
      self.audioDescription = description
      return self.perform(self.sender.audioConfigurationChanged(now: self.clock.now()))
    } else {
      guard self.videoDescriptions[source] != description else { return }
      self.videoDescriptions[source] = description
      guard source == self.videoSource else { return }
    }
    self.sender.configurationChanged()
  }

  private func sourceEnded(_ source: PushInbox.Source) {
    if let own, own.source == source { return self.perform(self.sender.encodingFailed(now: self.clock.now())) }
    if source == Self.renditionSource, self.stream.isRunning {
      self.report(self.event(.failed("the rendition cannot be encoded", nextAttempt: nil)))
    }
    if source == Self.mainSource || source == Self.renditionSource { self.end() }
  }

  private func measure() {
    self.followBitrate(at: self.clock.now())
    self.perform(
      self.sender.update(
        unsentByteCount: self.link.unsentByteCount, roundTripTime: self.link.roundTripTime,
        estimate: self.link.estimate, now: self.clock.now()))
  }
}

// MARK: Actions

extension Push {
  private func perform(_ actions: [PushSender.Action]) {
    for action in actions {
      switch action {
      case .connect: self.link.connect(self.offeredDescriptions)
      case .disconnect:
        self.forgetConnection()
        self.link.finish()
      case .abort:
        self.forgetConnection()
        self.link.abort()
      case .sendConfiguration: self.link.configure(self.descriptions)
      case .send(let sample):
        // Faces became private after this frame was queued.
        if sample.kind == .video, self.inbox.isDiscardPending { continue }
        self.link.write(sample)
      case .requestKeyframe: self.requestKeyframe()
      case .requestEncoding(let bitrate): self.requestEncoding(bitrate: bitrate)
      case .setBitrate(let bitrate): self.own?.rendition.bitrate = bitrate
      case .releaseEncoding: self.releaseEncoding()
      }
    }
    self.link.flush()
    self.storeStatus()
    self.scheduleTimer()
  }

  /// Configuration of the video that is sent, and of the audio.
  private var descriptions: [CodecDescription] {
    [self.videoDescriptions[self.videoSource], self.audioDescription].compactMap(\.self)
  }

  /// The same, with the stream's own until samples have shown others.
  private var offeredDescriptions: [CodecDescription] {
    let known = self.descriptions
    return known + self.stream.descriptions.filter { other in !known.contains { $0.kind == other.kind } }
  }

  private func requestKeyframe() {
    if self.videoSource == self.sharedSource {
      self.rendition.requestKeyframe()
    } else {
      self.own?.rendition.forceKeyframe()
    }
  }

  private func scheduleTimer() {
    let deadline = self.sender.nextDeadline
    guard deadline != self.timer?.deadline else { return }
    self.timer?.task.cancel()
    self.timer = nil
    guard let deadline else { return }
    let delay = max(deadline - self.clock.now(), .zero)
    let task = self.eventLoop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
      guard let self else { return }
      self.timer = nil
      self.measure()
    }
    self.timer = (task, deadline)
  }

  /// Stores the status for other threads, and reports changes of it.
  private func storeStatus() {
    let now = self.clock.now()
    var status = self.sender.status(at: now)
    status.droppedFrames += self.inbox.droppedFrames + self.link.droppedFrames
    self.currentStatus.withLock { $0 = status }
    guard status.phase != self.lastPhase else { return }
    self.lastPhase = status.phase
    switch status.phase {
    case .sending:
      self.reportedFailure = nil
      self.report(self.event(.sending))
    case .waiting(let time):
      let reason = status.lastFailure ?? "the connection has failed"
      // A server that cannot be reached for hours is reported once.
      guard reason != self.reportedFailure else { return }
      self.reportedFailure = reason
      self.report(self.event(.failed(reason, nextAttempt: max(time - now, .zero))))
    case .connecting: break
    case .stopped: self.report(self.event(.stopped))
    }
  }

  private func event(_ kind: PushEvent.Kind) -> PushEvent {
    PushEvent(push: self.id, address: self.target.address, kind: kind)
  }
}

// MARK: Connections

extension Push {
  private func handle(_ event: PushLinkEvent) {
    switch event {
    case .accepted:
      self.isAccepted = true
      self.inbox.isConnected = true
      self.passedThrough = (0, .zero)
      self.followBitrate(at: self.clock.now())
      self.link.begin(
        bitrate: self.bitrate, audioBitrate: self.audioDescription == nil ? nil : self.stream.audioSettings.bitrate)
      if !self.isRenditionUsed {
        self.isRenditionUsed = true
        self.rendition.beginUse()
      }
      self.perform(self.sender.handleConnected(now: self.clock.now()))
    case .keyframeNeeded: self.requestKeyframe()
    case .reconnectRequested: self.perform(self.sender.handleReconnectRequest(now: self.clock.now()))
    case .ended(let reason, let minimumDelay):
      self.forgetConnection()
      self.perform(
        self.sender.handleDisconnected(reason, minimumDelay: minimumDelay, now: self.clock.now()))
    }
  }

  private func forgetConnection() {
    self.isAccepted = false
    self.inbox.isConnected = false
    if self.isRenditionUsed {
      self.isRenditionUsed = false
      self.rendition.endUse()
    }
  }
}

// MARK: An encoding of its own

extension Push {
  private func requestEncoding(bitrate: Int) {
    let isGranted = self.service.encodings.request(self.encodingID) { [weak self] in
      self?.eventLoop.execute { [weak self] in self?.startEncoding(bitrate: bitrate) }
    }
    guard isGranted else {
      return self.report(self.event(.waitingForEncoding(sentBitrate: self.sharedBitrate)))
    }
    // After this action's turn: the sender is asked again.
    self.eventLoop.execute { self.startEncoding(bitrate: bitrate) }
  }

  private func startEncoding(bitrate: Int) {
    let status = self.sender.status(at: self.clock.now())
    guard status.isWaitingForEncoding else { return self.service.encodings.release(self.encodingID) }
    guard self.own == nil, case .sending = status.phase,
      let encoding = self.stream.makePrivateRendition(like: self.rendition, bitrate: bitrate)
    else {
      self.service.encodings.release(self.encodingID)
      return self.sender.encodingRefused()
    }
    self.lastSource += 1
    self.own = (encoding, self.lastSource)
    self.videoSource = self.lastSource
    self.addTap(source: self.lastSource, takesAudio: false, to: encoding)
    encoding.beginUse()
    self.perform(self.sender.encodingGranted(now: self.clock.now()))
  }

  private func releaseEncoding() {
    self.service.encodings.release(self.encodingID)
    self.videoSource = self.sharedSource
    guard let (encoding, source) = self.own.take() else { return }
    self.removeTap(source: source)
    encoding.endUse(lingers: false)
    // Waits for no thread of the encoder.
    self.stream.removePrivateRendition(encoding)
  }
}
