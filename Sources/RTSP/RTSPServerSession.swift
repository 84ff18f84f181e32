internal import Authentication
package import Media

/// The state machine of the server's side of one RTSP connection, RFC 2326 appendix A.2. Pure: `now` is an argument.
///
/// A session belongs to its connection and ends with it. Every request gets exactly one response; the response to PLAY is
/// returned when the first packet is known (``RTSPServerAction/startPlaying(_:)``), so that no packet precedes it.
///
/// Every request, response and RTCP packet of a session is activity; a connection without activity for the configured
/// timeout is closed, even while TCP still accepts our data. A connection without a session is closed after a fixed time,
/// which no request renews, so that strangers cannot hold connections. A connection whose stream ends is closed too, so that
/// no client waits on a silent connection.
package struct RTSPServerSession: ~Copyable {
  let configuration: RTSPServerConfiguration
  let makeRandom: @Sendable () -> UInt64
  var state = RTSPServerState.initial
  private var lastActivity: MediaTime
  /// Time since which there is no session: the connection was opened, or the session torn down.
  private var lastWithoutSession: MediaTime
  /// The Digest nonce that this connection has authenticated with. It does not expire: many players cannot renew a nonce
  /// during PLAY.
  private var nonce: String?
  /// The client that a token in the URL of an earlier request has identified: clients leave the query out of SETUP and PLAY.
  private var identity: AccessControl.Identity?
  /// Whether the query of an earlier request asks to start with the last keyframe: clients leave it out of SETUP and PLAY. Only
  /// the first PLAY does: after PAUSE the client would get packets again.
  var startsCached = false
  /// Name of the stream that the client has announced last; nil before ANNOUNCE. A publisher may end what has ended.
  var announcedName: String?
  /// The client's numeric address, for nonces and failed logins.
  package var clientAddress = ""

  /// The state of a new connection.
  ///
  /// - Parameter makeRandom: Returns unpredictable numbers, for session identifiers.
  package init(configuration: RTSPServerConfiguration, now: MediaTime, makeRandom: @escaping @Sendable () -> UInt64) {
    self.configuration = configuration
    self.makeRandom = makeRandom
    self.lastActivity = now
    self.lastWithoutSession = now
  }

  /// Processes a request: returns its response, or the actions that precede it.
  ///
  /// The connection must pass no request while PLAY waits (``isStarting``); the response to one is 455.
  ///
  /// - Parameter refusedCheck: Time after which the client can try again when the comparison of its password with a hash
  ///   was refused.
  package mutating func handle(
    _ request: RTSPRequest, directory: some RTSPStreamDirectory, refusedCheck: MediaDuration? = nil, now: MediaTime
  ) -> [RTSPServerAction] {
    if self.state.isClosed { return [] }
    self.lastActivity = max(self.lastActivity, now)
    guard let cSeq = Self.sequenceNumber(of: request) else { return [self.respond(.badRequest)] }
    let permission = self.permission(for: request, directory: directory)
    if let refusal = self.refusal(of: request, permission, cSeq: cSeq, refusedCheck: refusedCheck, now: now) {
      return [.respond(refusal)]
    }
    self.readQuery(of: request)
    switch request.method {
    case .options: return [self.respond(.ok, cSeq: cSeq, ["Public": Self.publicMethods])]
    case .describe: return self.describe(request, cSeq: cSeq, directory: directory)
    case .announce: return self.announce(request, cSeq: cSeq, directory: directory)
    case .record: return self.record(request, cSeq: cSeq, directory: directory)
    case .setup: return self.setUp(request, cSeq: cSeq, directory: directory)
    case .play: return self.play(request, cSeq: cSeq, directory: directory, now: now)
    case .pause: return self.pause(request, cSeq: cSeq, directory: directory)
    case .teardown:
      let hadSession = self.sessionTracks != nil
      defer { if hadSession, self.sessionTracks == nil { self.lastWithoutSession = now } }
      return self.tearDown(request, cSeq: cSeq, directory: directory)
    default: return self.handleParameters(request, cSeq: cSeq)
    }
  }

  private mutating func readQuery(of request: RTSPRequest) {
    let startsCached = (try? RTSPURL(parsing: request.uri))?.startsCached ?? false
    switch request.method {
    case .describe: self.startsCached = startsCached
    case .setup, .play: self.startsCached = self.startsCached || startsCached
    default: break
    }
  }

  /// Whether ``handle(_:directory:refusedCheck:now:)`` verifies the credentials of a request. Those of others are not to be
  /// compared with hashes: a stranger's would cost time and count as no failed login.
  package func verifiesCredentials(of request: RTSPRequest) -> Bool {
    guard !self.state.isClosed, let cSeq = Self.sequenceNumber(of: request) else { return false }
    return self.refusalOfMethod(of: request, cSeq: cSeq) == nil && request.method != .options
  }

  /// The value of `CSeq`; nil when it is missing or no number.
  private static func sequenceNumber(of request: RTSPRequest) -> String? {
    guard let cSeq = request.headers["CSeq"], !cSeq.isEmpty, cSeq.utf8.allSatisfy(\.isDigit) else { return nil }
    return cSeq
  }

  /// Responds to a malformed message with its status, and closes the connection when the framing is lost.
  package mutating func handle(_ message: RTSPMalformedMessage, now: MediaTime) -> [RTSPServerAction] {
    if self.state.isClosed { return [] }
    let response = self.respond(RTSPStatus(rejecting: message.error), cSeq: message.cSeq)
    return message.canContinue ? [response] : [response] + self.close()
  }

  /// Records activity other than a request: an RTCP packet of this session, or a response.
  ///
  /// Ignored without a session: bytes alone must not keep a connection open.
  package mutating func handleActivity(now: MediaTime) {
    if self.sessionTracks != nil { self.lastActivity = max(self.lastActivity, now) }
  }

  /// Closes an idle connection, or ends the wait of PLAY. Called at ``nextDeadline``; without effect before it.
  package mutating func handleTimer(now: MediaTime) -> [RTSPServerAction] {
    guard let deadline = self.nextDeadline, deadline <= now else { return [] }
    if self.state.isStarting { return self.playingFailed(now: now) }
    return self.close()
  }

  /// Time at which ``handleTimer(now:)`` is due; nil when the session is closed.
  package var nextDeadline: MediaTime? {
    switch self.state {
    case .closed: nil
    case .initial: self.lastWithoutSession + self.configuration.setupTimeout
    case .announcing: self.lastWithoutSession + self.configuration.setupTimeout
    case .starting(_, _, let since): since + self.configuration.startTimeout
    default: self.lastActivity + self.configuration.timeout
    }
  }

  /// Whether PLAY waits for the first packet; no request may be passed meanwhile.
  package var isStarting: Bool { self.state.isStarting }

  /// The name of the stream that is set up, whose end is passed to ``handleStreamEnded()``; nil without a session.
  package var streamName: String? { self.sessionTracks?.stream.name }

  /// The track of an interleaved channel, and whether the channel carries RTCP; nil for a channel that is not set up, whose
  /// packets are ignored.
  package func track(forChannel channel: UInt8) -> (index: Int, isRTCP: Bool)? {
    self.sessionTracks?.track(forChannel: channel)
  }

  /// Closes the connection at the end of the stream, so that the client can connect again.
  package mutating func handleStreamEnded() -> [RTSPServerAction] {
    if self.sessionTracks == nil { return [] }
    return self.handleShutdown()
  }

  /// Closes the connection at the end of the server.
  package mutating func handleShutdown() -> [RTSPServerAction] {
    if self.state.isClosed { return [] }
    let response = self.state.failStart().map { self.respond(.serviceUnavailable, cSeq: $0.cSeq) }
    guard let response else { return self.close() }
    _ = self.state.close()
    return [response, .stopPlaying, .close]
  }

  /// The tracks that are set up, in every state with a session.
  var sessionTracks: RTSPSessionTracks? { self.state.tracks }

  /// A response with the headers of every response.
  func respond(_ status: RTSPStatus, cSeq: String? = nil, _ headers: RTSPHeaders = [:]) -> RTSPServerAction {
    .respond(self.response(status, cSeq: cSeq, headers))
  }

  /// Leaves the stream if it was joined or is sent, and closes the connection.
  private mutating func close() -> [RTSPServerAction] {
    if self.state.publication != nil {
      _ = self.state.close()
      return [.endPublication, .close]
    }
    return self.state.close() ? [.stopPlaying, .close] : [.close]
  }

  /// Access that a client needs for a request.
  private func permission(for request: RTSPRequest, directory: some RTSPStreamDirectory) -> Permission {
    switch request.method {
    case .announce:
      let path = (try? RTSPURL(parsing: request.uri))?.streamPath ?? ""
      return .publish(stream: directory.stream(forPath: path)?.name ?? path)
    case .describe: return .watch
    case .record, .teardown: return self.announcedName.map { .publish(stream: $0) } ?? .watch
    default: return self.state.publication.map { .publish(stream: $0.announcement.streamName) } ?? .watch
    }
  }

  /// The response to a request in the wrong state, or with an unknown method or option; nil when it may proceed.
  private func refusalOfMethod(of request: RTSPRequest, cSeq: String) -> RTSPResponse? {
    if self.isStarting || self.state.isAnnouncing { return self.notValidInThisState(cSeq: cSeq) }
    guard Self.methods.contains(request.method) else {
      return self.response(.notImplemented, cSeq: cSeq, ["Public": Self.publicMethods])
    }
    let required = request.headers.list(of: "Require") ?? request.headers.list(of: "Proxy-Require")
    return required.map { self.response(.optionNotSupported, cSeq: cSeq, ["Unsupported": $0]) }
  }

  /// The response to a request that no method handler sees: wrong state, unknown method or option, no permission, wrong
  /// session.
  private mutating func refusal(
    of request: RTSPRequest, _ permission: Permission, cSeq: String, refusedCheck: MediaDuration?, now: MediaTime
  ) -> RTSPResponse? {
    if let refusal = self.refusalOfMethod(of: request, cSeq: cSeq) { return refusal }
    // FFmpeg and GStreamer send OPTIONS before they know that a password is needed, and as keep-alive.
    if request.method == .options { return nil }
    if let refusal = self.accessRefusal(
      of: request, permission, cSeq: cSeq, refusedCheck: refusedCheck, now: now)
    {
      return refusal
    }
    // A session belongs to its connection, so the identifier may be absent; a wrong identifier is an error.
    guard let session = request.headers["Session"] else { return nil }
    let identifier = session.splitOutsideQuotes(UInt8(ascii: ";"))[0]
    return identifier == self.sessionTracks?.id ? nil : self.response(.sessionNotFound, cSeq: cSeq)
  }

  /// The response to a request of a client that has no permission; nil when it has.
  private mutating func accessRefusal(
    of request: RTSPRequest, _ permission: Permission, cSeq: String, refusedCheck: MediaDuration?, now: MediaTime
  ) -> RTSPResponse? {
    let access = self.configuration.access
    var accessRequest = request.accessRequest(from: self.clientAddress, enteredWith: self.nonce)
    accessRequest.refusedCheck = refusedCheck
    var identification = access.identify(
      accessRequest,
      covers: { request.isCovered(byProofFor: $0) }, now: now)
    switch identification {
    case .identified(let identity) where identity.nonce == nil: self.identity = identity
    case .identified(let identity): self.nonce = identity.nonce
    case .anonymous: if let identity { identification = .identified(identity) }
    case .rejected, .throttled: break
    }
    switch access.decide(permission, for: identification, isOnThisMachine: false) {
    case .allowed: return nil
    case .unauthorized(let stale):
      var headers: RTSPHeaders = [:]
      for challenge in access.challenges(
        for: permission, stale: stale, address: self.clientAddress, allowsBasic: true, now: now)
      {
        headers.append("WWW-Authenticate", challenge)
      }
      return self.response(.unauthorized, cSeq: cSeq, headers)
    case .throttled(let delay):
      return self.response(.serviceUnavailable, cSeq: cSeq, ["Retry-After": "\(delay.secondsRoundedUp)"])
    case .forbidden: return self.response(.forbidden, cSeq: cSeq)
    }
  }
}
