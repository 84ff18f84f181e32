internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import Serving
internal import Streaming
internal import Synchronization
internal import WebRTC

/// The sessions of all streams behind one UDP port, on one event loop.
///
/// ``WebRTCServer`` has one, and calls it on ``eventLoop`` alone, with requests and with the datagrams of the port:
///
/// ```swift
/// let session = try hub.open(offer, of: output, path: path, candidates: candidates, client: client)
/// hub.receive(datagram, from: address)
/// hub.flush()               // sends what the sessions have left
/// ```
// Safe because all variables are used on the event loop only.
final class WebRTCHub: @unchecked Sendable {
  /// The event loop of all sessions.
  let eventLoop: any EventLoop
  let security: any DatagramSecurity
  let refusals: RefusalCounters
  private let readClock: @Sendable () -> MediaTime
  private let unixTime: @Sendable (MediaTime) -> Int64
  let report: @Sendable (String) -> Void
  private let log: @Sendable (ServerEvent) -> Void
  /// Sends datagrams; returns the number of those that were dropped.
  private var transmit: (DatagramBatch) -> Int = { _ in 0 }
  /// Drops datagrams that wait for the send buffer.
  private var discardWaiting: () -> Void = {}
  var table: ICESessionTable<String>
  private var viewers: [String: WebRTCViewer] = [:]
  /// The publishers of all streams.
  var publishers = WebRTCPublisherTable()
  /// Counters of publishers, for other threads.
  let publisherBoard: WebRTCPublisherTable.Board
  var batch = DatagramBatch()
  private var tick: RepeatedTask?
  /// Viewers that have more to send later, and when the first of them is looked at.
  var waiting: [WebRTCViewer] = []
  var nextSending: MediaTime?
  private var nextUpdate: MediaTime?
  private var nextList: MediaTime?
  /// Number of viewers since the start.
  private var viewerCount = 0

  /// Interval at which the timers of sessions are looked at.
  static let tickInterval = TimeAmount.milliseconds(20)
  /// Minimum time between two looks at what is sent later.
  static let minimumWait = MediaDuration.milliseconds(1)
  /// Interval at which renditions are chosen.
  private static let updateInterval = MediaDuration.milliseconds(100)
  /// Interval at which the counters of viewers are noted for other threads.
  private static let listInterval = MediaDuration.seconds(1)
  /// Length of a batch that is sent before others are sealed, in bytes: it stays in the processor's cache.
  private static let maximumBatchLength = 512 * 1024

  /// A hub without sessions.
  ///
  /// - Parameters:
  ///   - readClock: Reads the streams' clock.
  ///   - unixTime: Converts a time of that clock to nanoseconds since 1970.
  ///   - report: Receives lines about publishers for the owner.
  ///   - log: Receives the beginning and the end of each viewer's visit, and viewers that could not connect.
  init(
    eventLoop: any EventLoop, security: any DatagramSecurity, settings: WebRTCServerSettings,
    refusals: RefusalCounters, readClock: @escaping @Sendable () -> MediaTime,
    unixTime: @escaping @Sendable (MediaTime) -> Int64, report: @escaping @Sendable (String) -> Void,
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }
  ) {
    self.eventLoop = eventLoop
    self.security = security
    self.refusals = refusals
    self.readClock = readClock
    self.unixTime = unixTime
    self.report = report
    self.log = log
    self.publisherBoard = self.publishers.board
    self.table = ICESessionTable(
      maximumCount: settings.maximumSessionCount, maximumCountPerClient: settings.maximumSessionCountPerClient)
  }

  /// The time on the streams' clock; callable on any thread.
  var now: MediaTime { self.readClock() }

  /// SHA-256 of the certificate.
  var fingerprint: CertificateFingerprint {
    CertificateFingerprint(algorithm: .sha256, digest: self.security.fingerprint)
  }

  /// The viewers of all streams, ready or not.
  var allViewers: Dictionary<String, WebRTCViewer>.Values { self.viewers.values }

  /// The viewer of a session.
  func viewer(named id: String) -> WebRTCViewer? { self.viewers[id] }

  /// Number of sessions.
  var count: Int { self.table.count }

  /// Whether an address belongs to a session.
  func hasSession(at address: TransportAddress) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    return self.table.session(at: address) != nil
  }

  /// Sets the closures that send datagrams, returning the number of dropped ones, and that discard the queued ones.
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
  ///   - home: Output of the URL.
  ///   - transcoding: The transcoding of that, for a client that does not decode it; nil for others.
  ///   - path: The path of the URL.
  ///   - candidates: Where this server is reached, the best address first; at least one.
  ///   - client: Where the session was requested from.
  func open(
    _ offer: WebRTCOffer, of home: WebRTCOutput, as transcoding: WebRTCOutput? = nil, path: String,
    candidates: [TransportAddress], client: IPAddress
  ) throws(WebRTCRefusal) -> WHEPSession {
    self.eventLoop.preconditionInEventLoop()
    let output = transcoding ?? home
    // The stream may have ended since it was found.
    guard !home.hasEnded, !output.hasEnded else { throw .notFound }
    let makeRandom: @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) }
    let credentials = ICECredentials(makeRandom: makeRandom)
    let ssrc = UInt32.random(in: 1...UInt32.max - 2)
    var configuration = WebRTCAnswer.Configuration(
      sessionID: makeRandom() >> 2, credentials: credentials, fingerprint: self.fingerprint, candidates: candidates,
      video: output.video, hasAudio: output.hasAudio, ssrcs: (ssrc, ssrc + 1, ssrc + 2))
    configuration.packetizationMode = output.packetizationMode
    let answer: WebRTCAnswer
    do throws(WebRTCAnswer.Refusal) {
      answer = try WebRTCAnswer(offer, configuration)
    } catch {
      throw WebRTCRefusal(ofViewer: error)
    }
    guard let clientCredentials = answer.clientTransport.credentials else {
      throw .malformed("the offer has no ICE credentials")
    }
    let (id, number) = try self.addSession(credentials, client: client)
    let now = self.now
    self.viewerCount += 1
    let session = WebRTCSession(
      answer, credentials: credentials, client: clientCredentials, number: number, security: self.security,
      makeRandom: makeRandom, unixTime: self.unixTime, at: now)
    let viewer = WebRTCViewer(
      id: id, number: self.viewerCount, client: client, home: home, top: output, path: path, session: session,
      ice: ICESessionParameters(
        credentials: credentials, clientFragment: clientCredentials.usernameFragment, candidates: candidates,
        videoMid: answer.video?.mid, audioMid: answer.audio?.mid))
    // A rendition that was requested by name stays.
    if home.rendition.isMain, path == home.name {
      viewer.choice = ViewerRendition(.rendition(0), bitrate: output.bitrate, at: now)
    }
    self.viewers[id] = viewer
    self.startTicking()
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    return WHEPSession(id: id, entityTag: viewer.entityTag, answer: text)
  }

  /// Acknowledges a client's candidates, which an ICE lite agent does not use, or restarts ICE.
  func change(
    _ id: String, path: String, _ fragment: TrickleFragment, entityTags: String?
  ) throws(WebRTCRefusal) -> WHEPChange {
    self.eventLoop.preconditionInEventLoop()
    guard let viewer = self.viewers[id], viewer.path == path else { throw .notFound }
    guard let credentials = try self.restart(id, &viewer.ice, fragment, entityTags: entityTags) else {
      return .candidates
    }
    viewer.session.restart(credentials: credentials.server, client: credentials.client, at: self.now)
    return .restarted(fragment: ByteBuffer(string: viewer.ice.fragment), entityTag: viewer.entityTag)
  }

  /// Ends a session, and notifies its client.
  ///
  /// - Returns: Whether there was one of this path.
  func close(_ id: String, path: String) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard let viewer = self.viewers[id], viewer.path == path else { return false }
    viewer.visit?.end = .client
    self.close(viewer)
    self.flush()
    return true
  }

  /// Ends the sessions of a stream, or all; callable on any thread.
  func closeSessions(of output: WebRTCOutput? = nil) {
    self.eventLoop.execute {
      for viewer in self.viewers.values {
        if output == nil || viewer.home === output || viewer.top === output {
          viewer.visit?.end = .stream
          self.close(viewer)
        } else if let output {
          self.leave(output, viewer)
        }
      }
      if output?.rendition.isMain ?? true { self.closePublishers(of: output?.stream) }
      self.flush()
    }
  }

  private func close(_ viewer: WebRTCViewer) {
    viewer.session.close(at: self.now)
    self.settle(viewer)
  }

  /// Ends the session of a viewer or publisher, and notifies its client.
  ///
  /// - Parameter end: Cause of the end of a viewer's visit, for the log.
  func closeSession(_ id: String, for end: ViewerVisit.End) {
    if let viewer = self.viewers[id] {
      viewer.visit?.end = end
      self.close(viewer)
    }
    if let publisher = self.publishers[id] { self.close(publisher) }
    self.flush()
  }
}

// MARK: Datagrams

extension WebRTCHub {
  /// Passes a datagram to its session; ``flush()`` follows.
  func receive(_ datagram: ByteBuffer, from source: TransportAddress) {
    self.eventLoop.preconditionInEventLoop()
    guard let id = self.session(of: datagram, from: source) else { return }
    guard let viewer = self.viewers[id] else {
      if let publisher = self.publishers[id] { self.receive(datagram, from: source, of: publisher) }
      return
    }
    viewer.session.handle(datagram, from: source, at: self.now)
    self.settle(viewer)
  }

  /// The session of a datagram. Those without a session are not answered.
  private func session(of datagram: ByteBuffer, from source: TransportAddress) -> String? {
    switch DatagramKind(datagram) {
    case .stun:
      guard let message = try? STUNMessage(parsing: datagram) else { return nil }
      return self.table.session(for: message, from: source)
    case .dtls, .rtcp, .rtp: return self.table.session(at: source)
    case nil: return nil
    }
  }

  /// Sends media to viewers, those of a batch in as few system calls as possible.
  ///
  /// - Returns: Number of bytes.
  func send(
    _ deliveries: [SharedDelivery<WebRTCMedia>], of output: WebRTCOutput,
    to viewers: [ArraySlice<WebRTCViewer>]
  ) -> Int {
    self.eventLoop.preconditionInEventLoop()
    let now = self.now
    var byteCount = 0
    for viewer in viewers.joined() {
      for delivery in deliveries {
        if viewer.next === output, delivery.video?.isKeyframe == true { self.complete(viewer) }
        guard viewer.output === output else { continue }
        for audio in delivery.audio { viewer.session.send(audio, at: now) }
        if let video = delivery.video, !viewer.isAudioOnly, !viewer.isVideoHeld { viewer.session.send(video, at: now) }
      }
      self.settle(viewer)
      if self.batch.bytes.readableBytes >= Self.maximumBatchLength { byteCount += self.flush() }
    }
    return byteCount + self.flush()
  }

  /// Drops media of viewers that waits for the network, and that could be sent again: it must not be shown any more.
  ///
  /// Datagrams of other viewers that wait are dropped as well; those are requested again.
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

  /// Drains a session whose state has changed, and performs its events.
  func settle(_ viewer: WebRTCViewer) {
    let next = viewer.session.drain(into: &self.batch, at: self.now)
    if let next { self.wait(for: viewer, until: next) }
    while let event = viewer.session.nextEvent() {
      switch event {
      case .checked(let address): self.table.expect(address, of: viewer.id)
      case .valid(let address):
        self.table.bind(address, to: viewer.id, at: self.now)
        if !viewer.wasReady { self.table.setUse(.idle, of: viewer.id) }
      case .invalid(let address): self.table.unbind(address, from: viewer.id)
      case .ready:
        viewer.wasReady = true
        self.table.setUse(.session, of: viewer.id)
        viewer.output.join(viewer)
        self.beginVisit(of: viewer)
      case .keyframeNeeded: viewer.output.requestKeyframe()
      case .closed(let reason): self.remove(viewer, reason)
      }
    }
  }

  private func remove(_ viewer: WebRTCViewer, _ reason: WebRTCTransport.CloseReason) {
    viewer.count()
    viewer.output.leave(viewer)
    viewer.next?.leave(viewer)
    viewer.home.viewerList.withLock { $0.removeAll { $0.number == viewer.number } }
    self.table.remove(viewer.id)
    self.viewers[viewer.id] = nil
    if self.viewers.isEmpty {
      self.tick?.cancel()
      self.tick = nil
    }
    self.endVisit(of: viewer, reason)
    guard !viewer.wasReady, let failure = WebRTCSessionFailure(reason) else { return }
    viewer.output.failedSessions.withLock { $0[failure, default: 0] += 1 }
    let sent = viewer.candidates.map(\.description).joined(separator: ", ")
    let checks =
      switch viewer.session.checkCount {
      case 0: "no check of it arrived: open this UDP port, or give the address that clients reach with --ice-address"
      case 1: "1 check of it arrived"
      case let count: "\(count) checks of it arrived"
      }
    self.log(
      .viewerFailed(
        stream: viewer.home.requested.stream.name,
        "WebRTC of \(viewer.output.name): \(failure.text); the client was sent \(sent), and \(checks)"))
  }

  /// Reports to the owner that media can flow to a viewer.
  private func beginVisit(of viewer: WebRTCViewer) {
    guard viewer.visit == nil else { return }
    let rendition = viewer.home.requested
    let visit = ViewerVisit(
      stream: rendition.stream.name, rendition: rendition.name, protocolName: WebRTCServer.protocolName,
      address: "\(viewer.client)", start: self.now)
    viewer.visit = visit
    self.log(.viewerJoined(visit))
  }

  /// Reports to the owner that a viewer has left; without effect where media could not flow.
  private func endVisit(of viewer: WebRTCViewer, _ reason: WebRTCTransport.CloseReason) {
    guard var visit = viewer.visit else { return }
    if reason == .consentExpired { visit.end = .silent }
    self.log(.viewerLeft(visit, after: self.now - visit.start))
  }

  private func startTicking() {
    guard self.tick == nil else { return }
    self.tick = self.eventLoop.scheduleRepeatedTask(initialDelay: Self.tickInterval, delay: Self.tickInterval) { _ in
      self.handleTimeouts()
    }
  }

  private func handleTimeouts() {
    let now = self.now
    if self.nextUpdate.map({ now >= $0 }) ?? true {
      self.nextUpdate = now + Self.updateInterval
      self.chooseRenditions(at: now)
    }
    if self.nextList.map({ now >= $0 }) ?? true {
      self.nextList = now + Self.listInterval
      self.listViewers()
    }
    for viewer in self.viewers.values {
      viewer.count()
      if viewer.session.handleTimeoutIfDue(at: now) { self.settle(viewer) }
    }
    self.flush()
  }
}

extension WebRTCSessionFailure {
  /// Nil for an end that either side has chosen.
  init?(_ reason: WebRTCTransport.CloseReason) {
    switch reason {
    case .neverChecked: self = .neverChecked
    case .setupTimedOut: self = .setupTimedOut
    case .consentExpired: self = .consentExpired
    case .wrongFingerprint: self = .wrongFingerprint
    case .dtlsFailed: self = .dtlsFailed
    case .closedByClient, .closedByServer: return nil
    }
  }

  /// The cause, for the owner.
  var text: String {
    switch self {
    case .neverChecked: "a viewer did not reach this machine"
    case .setupTimedOut: "a viewer did not finish its connection within 30 s"
    case .consentExpired: "a viewer fell silent before its connection was made"
    case .wrongFingerprint: "a viewer has another certificate than it offered"
    case .dtlsFailed: "the DTLS handshake with a viewer failed"
    }
  }
}
