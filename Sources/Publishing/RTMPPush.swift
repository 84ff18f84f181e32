internal import Authentication
internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Pushing
internal import RTMP
internal import Streaming
internal import Synchronization
internal import Threading

/// Pushes a stream to one server: performs what ``PushSender`` decides, on the event loop of the pushes.
// Safe because all properties but the inbox and the locked report are used on the event loop only.
final class RTMPPush: @unchecked Sendable {
  let id: Int
  let target: PushTarget
  /// Number among the pushes of all streams.
  private let encodingID: Int
  private let stream: LiveStream
  private let service: PushService
  private let eventLoop: any EventLoop
  private let allowsLinkLocal: Bool
  private let report: @Sendable (PushEvent) -> Void
  private let published: Mutex<PushStatus>
  private let clock = StreamClock.system
  private let inbox: PushInbox

  private var sender: PushSender
  private var taps: [(tap: PushTap, remove: () -> Void)] = []
  /// The rendition that the target names.
  private var rendition: StreamRendition?
  private var isRenditionUsed = false
  /// The encoding of this push alone, and the number of its samples' source.
  private var own: (rendition: StreamRendition, source: PushInbox.Source)?
  private var lastSource: PushInbox.Source = 1
  /// Encoding whose video is sent.
  private var videoSource: PushInbox.Source = 0
  private var videoDescriptions: [PushInbox.Source: CodecDescription] = [:]
  private var audioDescription: CodecDescription?
  private var media = PushMedia(bitrates: (nil, nil))
  /// Number of the attempt to connect, so that the events of earlier ones are ignored.
  private var attempt = 0
  private var connection: RTMPPushHandler?
  private var isAccepted = false
  private var timer: (task: Scheduled<Void>, deadline: MediaTime)?
  private var lastPhase = PushStatus.Phase.stopped
  /// Reason that was reported since the last connection.
  private var reportedFailure: String?

  /// Source numbers of the stream's own encoding and of the rendition that the target names.
  private static let mainSource = 0
  private static let renditionSource = 1
  /// Least bitrate of an encoding of its own, as a share of the stream's, and absolute.
  private static let minimumShare = 8
  private static let minimumBitrate = 100_000
  private static let connectTimeout = TimeAmount.seconds(10)

  /// Calls an action that is set later: the inbox exists before the push whose event loop it wakes.
  private final class LateAction: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)
    func set(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }
    func callAsFunction() { self.action.withLock { $0 }?() }
  }

  init(
    id: Int, target: PushTarget, stream: LiveStream, service: PushService, eventLoop: any EventLoop,
    allowsLinkLocal: Bool, report: @escaping @Sendable (PushEvent) -> Void
  ) {
    self.id = id
    self.target = target
    self.stream = stream
    self.service = service
    self.encodingID = service.makeID()
    self.eventLoop = eventLoop
    self.allowsLinkLocal = allowsLinkLocal
    self.report = report
    let wakeUp = LateAction()
    self.inbox = PushInbox { wakeUp() }
    var settings = PushSettings(bitrate: 1)
    settings.hasVideo = stream.descriptions.contains { $0.kind == .video }
    settings.alwaysHasOwnEncoding = target.bitrate != nil
    self.sender = PushSender(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
    self.published = Mutex(PushStatus())
    wakeUp.set { [weak self] in self?.eventLoop.execute { [weak self] in self?.drain() } }
  }

  /// State and counters; on any thread.
  var status: PushStatus { self.published.withLock { $0 } }

  /// Starts the push.
  func start(rendition: StreamRendition?) {
    self.eventLoop.execute {
      self.rendition = rendition
      self.videoSource = rendition == nil ? Self.mainSource : Self.renditionSource
      var settings = PushSettings(
        hasVideo: self.stream.descriptions.contains { $0.kind == .video }, bitrate: self.bitrate,
        minimumBitrate: self.target.isAdaptive ? max(Self.minimumBitrate, self.bitrate / Self.minimumShare) : nil)
      settings.alwaysHasOwnEncoding = self.target.bitrate != nil
      self.sender = PushSender(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
      self.addTap(source: Self.mainSource, takesAudio: true, to: nil)
      if let rendition { self.addTap(source: Self.renditionSource, takesAudio: false, to: rendition) }
      self.perform(self.sender.start(now: self.clock.now()))
    }
  }

  /// Stops the push, and says goodbye to the server.
  func stop() -> EventLoopFuture<Void> {
    self.eventLoop.submit { self.end() }
  }

  private func end() {
    self.perform(self.sender.stop(now: self.clock.now()))
    for tap in self.taps { tap.remove() }
    self.taps = []
    self.timer?.task.cancel()
    self.timer = nil
  }

  private func addTap(source: PushInbox.Source, takesAudio: Bool, to rendition: StreamRendition?) {
    let tap = PushTap(self.inbox, source: source, takesAudio: takesAudio)
    if let rendition {
      rendition.add(tap)
      self.taps.append((tap, { rendition.remove(tap) }))
    } else {
      self.stream.add(tap)
      self.taps.append((tap, { [stream] in stream.remove(tap) }))
    }
  }

  private func removeTap(source: PushInbox.Source) {
    for tap in self.taps where tap.tap.source == source { tap.remove() }
    self.taps.removeAll { $0.tap.source == source }
    self.videoDescriptions[source] = nil
  }

  /// Bitrate of the video that is sent while the link carries it, in bits per second.
  private var bitrate: Int {
    self.target.bitrate ?? self.rendition?.bitrate ?? self.stream.videoBitrate
  }
}

// MARK: Samples

extension RTMPPush {
  /// Takes what the stream's threads have appended.
  private func drain() {
    let items = self.inbox.takeAll()
    if self.isAccepted { self.measure() }
    for item in items {
      switch item {
      case .sample(let sample, let source):
        guard sample.kind == .audio || source == self.videoSource else { continue }
        self.perform(self.sender.enqueue(sample, now: self.clock.now()))
      case .description(let description, let source): self.describe(description, of: source)
      case .discardEarlier:
        self.sender.discardEarlier()
        self.inbox.discarded()
      case .ended(let source): self.sourceEnded(source)
      }
    }
  }

  private func describe(_ description: CodecDescription, of source: PushInbox.Source) {
    if description.kind == .audio {
      guard self.audioDescription != description else { return }
      self.audioDescription = description
    } else {
      guard self.videoDescriptions[source] != description else { return }
      self.videoDescriptions[source] = description
      guard source == self.videoSource else { return }
    }
    self.sender.configurationChanged()
  }

  private func sourceEnded(_ source: PushInbox.Source) {
    if let own, own.source == source { return self.perform(self.sender.encodingFailed(now: self.clock.now())) }
    if source == Self.renditionSource, self.rendition != nil, self.stream.isRunning {
      self.report(self.event(.failed("the rendition cannot be encoded", nextAttempt: nil)))
    }
    if source == Self.mainSource || source == Self.renditionSource { self.end() }
  }

  private func measure() {
    self.perform(
      self.sender.update(unsentByteCount: self.connection?.unsentByteCount ?? 0, now: self.clock.now()))
  }
}

// MARK: Actions

extension RTMPPush {
  private func perform(_ actions: [PushSender.Action]) {
    var buffer = ByteBuffer()
    for action in actions {
      switch action {
      case .connect: self.connect()
      case .disconnect: self.disconnect()
      case .sendConfiguration:
        self.media.configure([self.videoDescriptions[self.videoSource], self.audioDescription].compactMap(\.self))
      case .send(let sample): self.write(sample, into: &buffer)
      case .requestKeyframe: self.requestKeyframe()
      case .requestEncoding(let bitrate): self.requestEncoding(bitrate: bitrate)
      case .setBitrate(let bitrate): self.own?.rendition.bitrate = bitrate
      case .releaseEncoding: self.releaseEncoding()
      }
    }
    if buffer.readableBytes > 0 { self.connection?.send(buffer) }
    self.publish()
    self.scheduleTimer()
  }

  private func write(_ sample: EncodedSample, into buffer: inout ByteBuffer) {
    // Faces became private after this frame was queued.
    if sample.kind == .video, self.inbox.isDiscardPending { return }
    for message in self.media.messages(for: sample) { self.connection?.write(message, into: &buffer) }
  }

  private func requestKeyframe() {
    switch self.videoSource {
    case Self.mainSource: self.stream.requestKeyframe()
    case Self.renditionSource: self.rendition?.requestKeyframe()
    default: self.own?.rendition.forceKeyframe()
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

  /// Publishes the state, and reports changes of it.
  private func publish() {
    let now = self.clock.now()
    var status = self.sender.status(at: now)
    status.droppedFrames += self.inbox.droppedFrames
    self.published.withLock { $0 = status }
    guard status.phase != self.lastPhase else { return }
    self.lastPhase = status.phase
    switch status.phase {
    case .sending:
      self.reportedFailure = nil
      self.report(self.event(.sending))
    case .waiting(let time):
      let reason = status.lastFailure ?? "the connection has failed"
      // A server that is away for hours is one line.
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

extension RTMPPush {
  private func connect() {
    self.attempt += 1
    let (attempt, url) = (self.attempt, self.target.url)
    let tls: NIOSSLContext?
    do {
      tls = try url.isEncrypted ? self.service.tlsContext() : nil
    } catch {
      // After this action's turn: the sender is asked again.
      return self.eventLoop.execute { self.ended("TLS cannot be set up", attempt: attempt) }
    }
    let allowsLinkLocal = self.allowsLinkLocal
    let bootstrap = ClientBootstrap(group: self.eventLoop)
      .connectTimeout(Self.connectTimeout)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { [weak self] channel in
        channel.eventLoop.makeCompletedFuture {
          if !allowsLinkLocal { try channel.pipeline.syncOperations.addHandler(LinkLocalGuard()) }
          if let tls {
            // An IP address is verified as such, and has no place in SNI (RFC 6066 §3).
            let name = IPAddress(parsing: url.host) == nil ? url.host : nil
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
          }
          let handler = RTMPPushHandler(
            url: url, report: { [weak self] event in self?.handle(event, attempt: attempt) })
          if let self, self.attempt == attempt { self.connection = handler }
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
    bootstrap.connect(host: url.host, port: Int(url.port)).whenComplete { [weak self] result in
      switch result {
      case .success(let channel):
        // Given up meanwhile.
        if self?.attempt != attempt { channel.close(promise: nil) }
      case .failure(let error): self?.ended(PushFailure.text(of: error), attempt: attempt)
      }
    }
  }

  private func handle(_ event: RTMPPushHandler.Event, attempt: Int) {
    guard attempt == self.attempt else { return }
    switch event {
    case .accepted:
      self.isAccepted = true
      self.inbox.isConnected = true
      self.sender.setBitrate(self.bitrate)
      self.media = PushMedia(
        bitrates: (self.bitrate, self.audioDescription == nil ? nil : self.stream.audioSettings.bitrate))
      if let rendition, !self.isRenditionUsed {
        self.isRenditionUsed = true
        rendition.beginUse()
      }
      self.perform(self.sender.handleConnected(now: self.clock.now()))
    case .ended(let reason): self.ended(reason, attempt: attempt)
    }
  }

  /// Handles the end of the current connection, or attempt.
  private func ended(_ reason: String, attempt: Int) {
    guard attempt == self.attempt else { return }
    self.forgetConnection()
    self.perform(self.sender.handleDisconnected(reason, now: self.clock.now()))
  }

  private func disconnect() {
    let connection = self.connection
    self.forgetConnection()
    connection?.finish()
  }

  private func forgetConnection() {
    // The events of this connection are ignored from now on.
    self.attempt += 1
    self.connection = nil
    self.isAccepted = false
    self.inbox.isConnected = false
    if self.isRenditionUsed {
      self.isRenditionUsed = false
      self.rendition?.endUse()
    }
  }
}

// MARK: An encoding of its own

extension RTMPPush {
  private func requestEncoding(bitrate: Int) {
    let isGranted = self.service.encodings.request(self.encodingID) { [weak self] in
      self?.eventLoop.execute { [weak self] in self?.startEncoding(bitrate: bitrate) }
    }
    // After this action's turn: the sender is asked again.
    if isGranted { self.eventLoop.execute { self.startEncoding(bitrate: bitrate) } }
  }

  private func startEncoding(bitrate: Int) {
    guard self.own == nil, case .sending = self.sender.status(at: self.clock.now()).phase,
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
    self.videoSource = self.rendition == nil ? Self.mainSource : Self.renditionSource
    guard let (encoding, source) = self.own.take() else { return }
    self.removeTap(source: source)
    encoding.endUse(lingers: false)
    // Waits for no thread of the encoder.
    self.stream.removePrivateRendition(encoding)
  }
}
