internal import Authentication
internal import Connections
internal import Delivery
internal import Media
internal import NIOCore
internal import RTP
internal import Synchronization
internal import WebRTC

/// The sessions of all streams behind one UDP port, on one event loop.
// Safe because all variables are used on the event loop only.
final class WebRTCHub: @unchecked Sendable {
  /// The event loop of all sessions.
  let eventLoop: any EventLoop
  private let security: any DatagramSecurity
  private let refusals: RefusalCounters
  private let readClock: @Sendable () -> MediaTime
  private let unixTime: @Sendable (MediaTime) -> Int64
  private let report: @Sendable (String) -> Void
  /// Sends datagrams; returns the number of those that were dropped.
  private var transmit: (DatagramBatch) -> Int = { _ in 0 }
  /// Drops datagrams that wait for the send buffer.
  private var discardWaiting: () -> Void = {}
  private var table: ICESessionTable<String>
  private var viewers: [String: WebRTCViewer] = [:]
  private var batch = DatagramBatch()
  private var tick: RepeatedTask?

  /// Interval at which the timers of sessions are looked at.
  static let tickInterval = TimeAmount.milliseconds(20)
  /// Length of a batch that is sent before others are sealed, in bytes: it stays in the processor's cache.
  private static let maximumBatchLength = 512 * 1024

  /// A hub without sessions.
  ///
  /// - Parameters:
  ///   - readClock: Reads the streams' clock.
  ///   - unixTime: Converts a time of that clock to nanoseconds since 1970.
  ///   - report: Receives lines for the owner.
  init(
    eventLoop: any EventLoop, security: any DatagramSecurity, settings: WebRTCServerSettings,
    refusals: RefusalCounters, readClock: @escaping @Sendable () -> MediaTime,
    unixTime: @escaping @Sendable (MediaTime) -> Int64, report: @escaping @Sendable (String) -> Void
  ) {
    self.eventLoop = eventLoop
    self.security = security
    self.refusals = refusals
    self.readClock = readClock
    self.unixTime = unixTime
    self.report = report
    self.table = ICESessionTable(
      maximumCount: settings.maximumSessionCount, maximumCountPerClient: settings.maximumSessionCountPerClient)
  }

  /// The time on the streams' clock; callable on any thread.
  var now: MediaTime { self.readClock() }

  /// SHA-256 of the certificate.
  var fingerprint: CertificateFingerprint {
    CertificateFingerprint(algorithm: .sha256, digest: self.security.fingerprint)
  }

  /// Number of sessions.
  var count: Int { self.table.count }

  /// Sets what sends datagrams and returns the number of those that were dropped, and what drops those that wait.
  func setTransmit(_ transmit: @escaping (DatagramBatch) -> Int, discardWaiting: @escaping () -> Void = {}) {
    self.eventLoop.preconditionInEventLoop()
    self.transmit = transmit
    self.discardWaiting = discardWaiting
  }
}

// MARK: Sessions

extension WebRTCHub {
  /// Answers an offer and adds its session.
  ///
  /// - Parameters:
  ///   - path: The path of the URL.
  ///   - candidates: Where this server is reached, the best address first; at least one.
  ///   - client: Where the session was requested from.
  func open(
    _ offer: WebRTCOffer, of broadcaster: WebRTCBroadcaster, path: String, candidates: [TransportAddress],
    client: IPAddress
  ) throws(WHEPRefusal) -> WHEPSession {
    self.eventLoop.preconditionInEventLoop()
    let makeRandom: () -> UInt64 = { .random(in: 0...UInt64.max) }
    let credentials = ICECredentials(makeRandom: makeRandom)
    let ssrc = UInt32.random(in: 1...UInt32.max - 2)
    let configuration = WebRTCAnswer.Configuration(
      sessionID: makeRandom() >> 2, credentials: credentials, fingerprint: self.fingerprint, candidates: candidates,
      video: broadcaster.video, hasAudio: broadcaster.hasAudio, ssrcs: (ssrc, ssrc + 1, ssrc + 2))
    let answer: WebRTCAnswer
    do throws(WebRTCAnswer.Refusal) {
      answer = try WebRTCAnswer(offer, configuration)
    } catch {
      switch error {
      case .nothingFits: throw .nothingFits
      case .noTransport: throw .malformed("the offer has no ICE credentials, or no fingerprint of SHA-2")
      case .noDTLSClient: throw .malformed("the offer wants to be the DTLS server; a=setup must be actpass or active")
      }
    }
    guard let clientCredentials = answer.clientTransport.credentials else {
      throw .malformed("the offer has no ICE credentials")
    }
    let id = Self.makeID(makeRandom)
    do {
      // Before the answer is sent: the first check may arrive earlier.
      try self.table.add(id, usernameFragment: credentials.usernameFragment, client: client)
    } catch {
      self.refusals.count(.overLimit)
      throw .tooManySessions
    }
    let now = self.now
    let session = WebRTCSession(
      answer, credentials: credentials, security: self.security,
      makeRandom: makeRandom, unixTime: self.unixTime, at: now)
    let viewer = WebRTCViewer(
      id: id, broadcaster: broadcaster, path: path, session: session, credentials: credentials,
      clientFragment: clientCredentials.usernameFragment, mid: (answer.video ?? answer.audio)?.mid,
      candidates: candidates)
    self.viewers[id] = viewer
    self.startTicking()
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    return WHEPSession(id: id, entityTag: viewer.entityTag, answer: text)
  }

  /// Takes candidates of a client, or restarts ICE.
  func change(
    _ id: String, path: String, _ fragment: TrickleFragment, entityTags: String?
  ) throws(WHEPRefusal) -> WHEPChange {
    self.eventLoop.preconditionInEventLoop()
    guard let viewer = self.viewers[id], viewer.path == path else { throw .notFound }
    guard let client = fragment.credentials, client.usernameFragment != viewer.clientFragment else {
      // The addresses of clients are learned from their checks. A wrong entity tag does no harm here.
      return .candidates
    }
    guard let entityTags else { throw .preconditionRequired }
    let isMatching = entityTags.split(separator: ",").contains {
      let tag = $0.drop { $0 == " " }
      return tag.hasPrefix("*") || tag.hasPrefix(viewer.entityTag)
    }
    guard isMatching else { throw .preconditionFailed }
    let credentials = ICECredentials { .random(in: 0...UInt64.max) }
    do {
      try self.table.restart(id, usernameFragment: credentials.usernameFragment)
    } catch {
      throw .tooManySessions
    }
    viewer.credentials = credentials
    viewer.clientFragment = client.usernameFragment
    viewer.session.restart(credentials: credentials, at: self.now)
    let text = Self.fragment(of: viewer)
    return .restarted(fragment: ByteBuffer(string: text), entityTag: viewer.entityTag)
  }

  /// The server's side of an ICE restart, RFC 8840 §9.
  private static func fragment(of viewer: WebRTCViewer) -> String {
    var lines = ["a=ice-lite"]
    if let mid = viewer.mid {
      lines += ["a=group:BUNDLE \(mid)", "m=video 9 UDP/TLS/RTP/SAVPF 0", "a=mid:\(mid)"]
    }
    lines += [
      "a=ice-ufrag:\(viewer.credentials.usernameFragment)", "a=ice-pwd:\(viewer.credentials.password)",
    ]
    lines += viewer.candidates.enumerated().map { "a=candidate:\(ICECandidate(host: $1, rank: $0))" }
    return lines.joined(separator: "\r\n") + "\r\na=end-of-candidates\r\n"
  }

  /// Ends a session, and notifies its client.
  ///
  /// - Returns: Whether there was one of this path.
  func close(_ id: String, path: String) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard let viewer = self.viewers[id], viewer.path == path else { return false }
    self.close(viewer)
    self.flush()
    return true
  }

  /// Ends the sessions of a stream, or all; callable on any thread.
  func closeSessions(of broadcaster: WebRTCBroadcaster? = nil) {
    self.eventLoop.execute {
      for viewer in self.viewers.values where broadcaster == nil || viewer.broadcaster === broadcaster {
        self.close(viewer)
      }
      self.flush()
    }
  }

  private func close(_ viewer: WebRTCViewer) {
    viewer.session.close(at: self.now)
    self.settle(viewer)
  }

  /// 128 random bits.
  private static func makeID(_ makeRandom: () -> UInt64) -> String {
    (0..<2).map { _ in
      let digits = String(makeRandom(), radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }
}

// MARK: Datagrams

extension WebRTCHub {
  /// Handles a datagram; ``flush()`` follows.
  func receive(_ datagram: ByteBuffer, from source: TransportAddress) {
    self.eventLoop.preconditionInEventLoop()
    guard let viewer = self.viewer(of: datagram, from: source) else { return }
    viewer.session.handle(datagram, from: source, at: self.now)
    self.settle(viewer)
  }

  /// The session of a datagram. Those without a session are not answered.
  private func viewer(of datagram: ByteBuffer, from source: TransportAddress) -> WebRTCViewer? {
    switch DatagramKind(datagram.readableBytesView) {
    case .stun:
      guard let message = try? STUNMessage(parsing: datagram) else { return nil }
      return self.table.session(for: message, from: source).flatMap { self.viewers[$0] }
    case .dtls, .rtcp, .rtp: return self.table.session(at: source).flatMap { self.viewers[$0] }
    case nil: return nil
    }
  }

  /// Sends media to viewers, those of a batch in as few system calls as possible.
  ///
  /// - Returns: Number of bytes.
  func send(_ deliveries: [SharedDelivery<WebRTCMedia>], to viewers: [ArraySlice<WebRTCViewer>]) -> Int {
    self.eventLoop.preconditionInEventLoop()
    let now = self.now
    var byteCount = 0
    for viewer in viewers.joined() {
      for delivery in deliveries {
        for audio in delivery.audio { viewer.session.send(audio, at: now) }
        if let video = delivery.video { viewer.session.send(video, at: now) }
      }
      self.settle(viewer)
      if self.batch.bytes.readableBytes >= Self.maximumBatchLength { byteCount += self.flush() }
    }
    return byteCount + self.flush()
  }

  /// Drops media of viewers that waits for the network, and that could be sent again: it must not be shown any more.
  ///
  /// Datagrams of other viewers that wait are dropped as well; those ask for them again.
  func discardEarlier(of viewers: [WebRTCViewer]) {
    self.eventLoop.preconditionInEventLoop()
    let now = self.now
    for viewer in viewers { viewer.session.discardEarlier(at: now) }
    self.batch.removeAll()
    self.discardWaiting()
  }

  /// Sends the datagrams of the batch.
  ///
  /// - Returns: Number of bytes.
  @discardableResult
  func flush() -> Int {
    guard !self.batch.isEmpty else { return 0 }
    let byteCount = self.batch.bytes.readableBytes
    let dropped = self.transmit(self.batch)
    if dropped > 0 { self.refusals.count(.datagramDropped, dropped) }
    self.batch.removeAll()
    return byteCount
  }

  /// Drains a session whose state has changed, and does what its events mean.
  private func settle(_ viewer: WebRTCViewer) {
    viewer.session.drain(into: &self.batch, at: self.now)
    while let event = viewer.session.nextEvent() {
      switch event {
      case .valid(let address): self.table.bind(address, to: viewer.id)
      case .ready:
        viewer.wasReady = true
        viewer.broadcaster.join(viewer)
      case .keyframeNeeded: viewer.broadcaster.requestKeyframe()
      case .closed(let reason): self.remove(viewer, reason)
      }
    }
  }

  private func remove(_ viewer: WebRTCViewer, _ reason: WebRTCTransport.CloseReason) {
    viewer.count()
    viewer.broadcaster.leave(viewer)
    self.table.remove(viewer.id)
    self.viewers[viewer.id] = nil
    if self.viewers.isEmpty {
      self.tick?.cancel()
      self.tick = nil
    }
    guard !viewer.wasReady, reason != .closedByServer, reason != .closedByClient else { return }
    viewer.broadcaster.failedSessions.add(1, ordering: .relaxed)
    let told = viewer.candidates.map(\.description).joined(separator: ", ")
    self.report(
      "WebRTC of \(viewer.broadcaster.name): \(reason.text); the client was told \(told), and "
        + (viewer.session.checkCount == 0
          ? "no check of it arrived: open this UDP port, or give the address that clients reach with --ice-address"
          : "\(viewer.session.checkCount) checks of it arrived"))
  }

  private func startTicking() {
    guard self.tick == nil else { return }
    self.tick = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.tickInterval, delay: Self.tickInterval) { _ in
      self.handleTimeouts()
    }
  }

  private func handleTimeouts() {
    let now = self.now
    for viewer in self.viewers.values {
      viewer.count()
      guard let deadline = viewer.session.nextDeadline, now >= deadline else { continue }
      viewer.session.handleTimeout(at: now)
      self.settle(viewer)
    }
    self.flush()
  }
}

extension WebRTCTransport.CloseReason {
  /// The reason, for the owner.
  fileprivate var text: String {
    switch self {
    case .neverChecked: "a viewer did not reach this machine"
    case .consentExpired: "a viewer fell silent before its connection was made"
    case .closedByClient: "a viewer left"
    case .closedByServer: "a session ended"
    case .wrongFingerprint: "a viewer has another certificate than it offered"
    case .dtlsFailed: "the DTLS handshake with a viewer failed"
    }
  }
}
