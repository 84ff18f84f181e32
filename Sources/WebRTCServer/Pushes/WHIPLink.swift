package import Authentication
internal import Media
internal import NIOCore
package import Serving
internal import Synchronization
internal import Threading
package import WebRTC

/// The sessions of a push to a server of WHIP, RFC 9725: performs what ``WebRTC/WHIPClient`` and ``WebRTC/WebRTCSession`` decide.
///
/// Audio is transcoded to Opus while a server takes it.
// Safe because all properties are used on the event loop of the pushes only.
final class WHIPLink: PushLink, @unchecked Sendable {
  /// The offer of an attempt, and what it was made with.
  private struct Attempt {
    var offer: WebRTCPushOffer
    var credentials: ICECredentials
    var security: OpenSSLSecurity
  }

  private let endpoint: WHIPURL
  private let connector: PushConnector
  private let report: (PushLinkEvent) -> Void
  private let clock = StreamClock.system

  /// Number of the attempt to connect, so that the events of earlier ones are ignored.
  private var attempt = 0
  private var client: WHIPClient
  private var current: Attempt?
  private var sockets: WHIPSockets?
  private var session: WebRTCSession?
  private var tracks = WebRTCStreamPacketizer([])
  private var batch = DatagramBatch()
  private var timer: (task: Scheduled<Void>, deadline: MediaTime)?
  /// Time at which the last datagram of the server has arrived; nil before media may be sent.
  private var lastArrival: MediaTime?
  /// Frames that earlier sessions have dropped.
  private var earlierDrops = 0
  private(set) var farewell: EventLoopFuture<Void>

  /// Time without a datagram after which a server counts as gone: it answers consent checks every 4 to 6 s, and reports more often.
  private static let silenceTimeout = MediaDuration.seconds(10)
  /// Maximum time that the end of a session is waited for.
  private static let farewellTimeout = MediaDuration.seconds(1)
  /// Bits per second of audio with headers.
  private static let audioBitrate = 90_000
  /// Minimum time between two looks at what is sent later.
  private static let minimumWait = MediaDuration.milliseconds(1)
  /// DTLS of all pushes; nil before the first one. A context of its own for each would use up OpenSSL's 127 types of `BIO`.
  private static let sharedSecurity = Mutex<OpenSSLSecurity?>(nil)

  /// - Parameters:
  ///   - token: Token of the requests; nil without one.
  ///   - report: Called with each event, on the event loop.
  init(
    _ endpoint: WHIPURL, token: Secret?, connector: PushConnector, report: @escaping (PushLinkEvent) -> Void
  ) {
    self.endpoint = endpoint
    self.client = WHIPClient(endpoint: endpoint, token: token)
    self.connector = connector
    self.report = report
    self.farewell = connector.eventLoop.makeSucceededVoidFuture()
  }
}

// MARK: Connecting

extension WHIPLink {
  func connect(_ descriptions: [CodecDescription]) {
    self.attempt += 1
    let attempt = self.attempt
    self.tracks = WebRTCStreamPacketizer(descriptions)
    WHIPSockets.open(on: self.connector.eventLoop) { [weak self] datagram, source in
      guard let self, self.attempt == attempt else { return }
      self.receive(datagram, from: source)
    }.hop(to: self.connector.eventLoop).whenComplete { [weak self] result in
      switch result {
      case .success(let sockets):
        guard let self, self.attempt == attempt else { return sockets.close() }
        self.sockets = sockets
        self.offer(attempt: attempt)
      case .failure(let error): self?.ended(PushFailure.text(of: error), attempt: attempt)
      }
    }
  }

  /// DTLS with one certificate for all pushes; nil when memory is lacking.
  private static func security() -> OpenSSLSecurity? {
    self.sharedSecurity.withLock { security in
      security = security ?? OpenSSLSecurity()
      return security
    }
  }

  private func offer(attempt: Int) {
    guard let sockets, let security = Self.security() else {
      return self.ended("DTLS cannot be set up", attempt: attempt)
    }
    let (video, hasAudio) = (self.tracks.video, self.tracks.hasAudio)
    guard video != nil || hasAudio else { return self.ended("the stream has no H.264", attempt: attempt) }
    let makeRandom: () -> UInt64 = { .random(in: 0...UInt64.max) }
    let credentials = ICECredentials(makeRandom: makeRandom)
    let ssrc = UInt32.random(in: 1...UInt32.max - 2)
    let isNear = self.endpoint.host == "localhost" || IPAddress(parsing: self.endpoint.host)?.isLoopback == true
    let offer = WebRTCPushOffer(
      WebRTCPushOffer.Configuration(
        sessionID: makeRandom() >> 2, credentials: credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: security.fingerprint),
        candidates: sockets.candidates(includesLoopback: isNear), video: video, hasAudio: hasAudio,
        ssrcs: (ssrc, ssrc + 1, ssrc + 2)))
    self.current = Attempt(offer: offer, credentials: credentials, security: security)
    self.send(self.client.post(offer.text), attempt: attempt)
  }

  private func send(_ request: WHIPRequest, attempt: Int) {
    let client = self.client
    self.exchange(request, timeout: self.connector.stepTimeout).whenComplete { [weak self] result in
      guard let self else { return }
      guard self.attempt == attempt else {
        // The push was stopped meanwhile; a session that was made all the same would keep the server from taking another.
        var client = client
        guard case .success(let response) = result, case .answered = client.handle(response), let end = client.end()
        else { return }
        _ = self.exchange(end, timeout: Self.farewellTimeout)
        return
      }
      switch result {
      case .success(let response): self.handle(response, attempt: attempt)
      case .failure(let error): self.ended(PushFailure.text(of: error), attempt: attempt)
      }
    }
  }

  private func exchange(_ request: WHIPRequest, timeout: MediaDuration) -> EventLoopFuture<WHIPResponse> {
    WHIPExchange.send(
      request, over: self.connector, isNamedByServer: !request.url.hasOrigin(of: self.endpoint), timeout: timeout)
  }

  private func handle(_ response: WHIPResponse, attempt: Int) {
    switch self.client.handle(response) {
    case .send(let request): self.send(request, attempt: attempt)
    case .failed(let failure):
      self.ended(failure.description, minimumDelay: failure.retryAfter ?? .zero, attempt: attempt)
    case .answered(let answer):
      guard let current = self.current else { return }
      do throws(WebRTCPushOffer.Refusal) {
        guard let description = try? WebRTCOffer(parsing: answer) else { throw .malformed }
        var answer = try current.offer.accept(description)
        if !self.connector.allowsLinkLocal {
          answer.candidates.removeAll { $0.address?.ip.isLinkLocalOrMetadata == true }
        }
        self.session = WebRTCSession(
          answer, credentials: current.credentials, security: current.security,
          makeRandom: { .random(in: 0...UInt64.max) }, unixTime: { self.clock.unixTime(at: $0) }, at: self.clock.now())
        self.tracks.isAudioWanted = self.session?.hasAudio == true
        self.settle()
      } catch {
        self.ended(PushFailure.text(of: error), attempt: attempt)
      }
    }
  }

  /// Finishes the current session, or attempt, and reports its end.
  private func ended(_ reason: String, minimumDelay: MediaDuration = .zero, attempt: Int) {
    guard attempt == self.attempt else { return }
    self.finish()
    self.report(.ended(reason, minimumDelay: minimumDelay))
  }

  /// Ends the session by DTLS, and by `DELETE`.
  func finish() {
    // The events of this attempt are ignored from now on.
    self.attempt += 1
    self.timer?.task.cancel()
    self.timer = nil
    if var session = self.session.take() {
      session.close(at: self.clock.now())
      session.drain(into: &self.batch, at: self.clock.now())
      self.earlierDrops += session.statistics.framesDropped
      self.transmit()
    }
    self.sockets?.close()
    (self.sockets, self.current, self.lastArrival) = (nil, nil, nil)
    self.tracks.isAudioWanted = false
    guard let request = self.client.end() else { return }
    self.farewell = self.exchange(request, timeout: Self.farewellTimeout).map { _ in }.recover { _ in }
  }

  /// Drops the frames that wait, and ends the session as ``finish()`` does: no media of it is sent later.
  func abort() {
    self.discardEarlier()
    self.finish()
  }
}

// MARK: Datagrams

extension WHIPLink {
  private func receive(_ datagram: ByteBuffer, from source: TransportAddress) {
    let now = self.clock.now()
    if self.lastArrival != nil { self.lastArrival = now }
    self.session?.handle(datagram, from: source, at: now)
    self.settle()
  }

  /// Sends what may leave now, and performs the session's events.
  private func settle() {
    self.session?.drain(into: &self.batch, at: self.clock.now())
    self.transmit()
    let attempt = self.attempt
    while self.attempt == attempt, let event = self.session?.nextEvent() {
      switch event {
      case .checked, .valid, .invalid: break
      case .ready:
        self.lastArrival = self.clock.now()
        self.report(.accepted)
      case .keyframeNeeded: self.report(.keyframeNeeded)
      case .closed(let reason): self.ended(PushFailure.text(of: reason), attempt: attempt)
      }
    }
    if self.attempt == attempt { self.scheduleTimer() }
  }

  private func transmit() {
    guard !self.batch.isEmpty else { return }
    self.sockets?.send(self.batch)
    self.batch.removeAll()
  }

  private func scheduleTimer() {
    let deadline = self.session?.nextDeadline
    guard deadline != self.timer?.deadline else { return }
    self.timer?.task.cancel()
    self.timer = nil
    guard let deadline else { return }
    let delay = max(deadline - self.clock.now(), Self.minimumWait)
    let task = self.connector.eventLoop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
      guard let self else { return }
      self.timer = nil
      let now = self.clock.now()
      if let lastArrival = self.lastArrival, now - lastArrival >= Self.silenceTimeout {
        return self.ended(PushFailure.text(of: .consentExpired), attempt: self.attempt)
      }
      self.session?.handleTimeout(at: now)
      self.settle()
    }
    self.timer = (task, deadline)
  }
}

// MARK: Media

extension WHIPLink {
  func begin(bitrate: Int, audioBitrate: Int?) { self.follow(bitrate: bitrate, maximum: bitrate) }

  func configure(_ descriptions: [CodecDescription]) {
    for description in descriptions { self.tracks.change(to: description) }
  }

  func write(_ sample: EncodedSample) {
    let now = self.clock.now()
    for media in self.tracks.packets(of: sample) { self.session?.send(media, at: now) }
  }

  func flush() {
    if self.session != nil { self.settle() }
  }

  /// Drops frames that wait and those that could be sent again; nothing that was sent waits elsewhere.
  func discardEarlier() { self.session?.discardEarlier(at: self.clock.now()) }

  func follow(bitrate: Int, maximum: Int) {
    // As much more as is needed to know that the maximum passes.
    self.session?.setBitrates(
      media: bitrate + Self.audioBitrate, wanted: (maximum + Self.audioBitrate) * 5 / 4)
  }

  /// The session's queue is bounded by time, and its drops are counted.
  var unsentByteCount: Int { 0 }

  var roundTripTime: MediaDuration { .zero }

  static let hasEstimate = true

  var estimate: Int? { self.session?.capacity }

  var droppedFrames: Int { self.earlierDrops + (self.session?.statistics.framesDropped ?? 0) }
}

extension PushConnector {
  /// Makes the link of a push to a server of WHIP.
  ///
  /// - Parameters:
  ///   - token: Token of the requests; nil without one.
  ///   - report: Called with each event, on the event loop.
  package func whipLink(
    to endpoint: WHIPURL, token: Secret?, report: @escaping (PushLinkEvent) -> Void
  ) -> any PushLink {
    WHIPLink(endpoint, token: token, connector: self, report: report)
  }
}

extension PushFailure {
  /// The line of an answer of WHIP that cannot be used.
  static func text(of refusal: WebRTCPushOffer.Refusal) -> String {
    switch refusal {
    case .malformed: "the server's answer is no session description"
    case .nothingFits: "the server does not accept H.264, or Opus without video"
    case .noTransport: "the server's answer has no ICE credentials, or no fingerprint of SHA-2"
    }
  }

  /// The line of a session of WHIP that has ended.
  static func text(of reason: WebRTCTransport.CloseReason) -> String {
    switch reason {
    case .neverChecked, .setupTimedOut: "the server's UDP addresses do not respond"
    case .consentExpired: "the server does not respond any more"
    case .closedByClient, .closedByServer: "the server has ended the session"
    case .wrongFingerprint: "the certificate of DTLS is not that of the server's answer"
    case .dtlsFailed: "the DTLS handshake has failed"
    }
  }
}
