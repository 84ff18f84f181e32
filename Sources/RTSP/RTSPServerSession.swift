internal import Authentication
public import Media

/// The server's side of one RTSP connection, RFC 2326 appendix A.2.
///
/// ```
///              SETUP              PLAY                playingStarted
///   initial ──────────▶ ready ──────────▶ starting ──────────────────▶ playing
///      ▲                │   ▲                │                         │    │
///      │   TEARDOWN     │   │ playingFailed  │                         │    │
///      ├────────────────┘   ├────────────────┘                  PAUSE  │    │
///      │                    └──────────────────────────────────────────┘    │
///      └────────────────────────────────────────────────────────────────────┘
/// ```
///
/// A session lives and dies with its connection. Every request gets exactly one answer; the one to PLAY comes when the
/// first packet is known (``RTSPServerAction/startPlaying(_:)``), so that nothing is sent before it.
///
/// Every request, answer and RTCP packet is a sign of life; a connection without one for the configured time is closed,
/// whatever TCP still takes from us, and so is one whose stream ends: never is a client left with a silent connection.
public struct RTSPServerSession: ~Copyable {
  enum State {
    /// No session.
    case initial
    /// Set up, nothing is sent.
    case ready(RTSPSessionTracks)
    /// PLAY with this `CSeq` waits for the first packet since this time.
    case starting(RTSPSessionTracks, cSeq: String, since: MediaTime)
    /// Media goes out.
    case playing(RTSPSessionTracks)
    /// Over; everything is ignored.
    case closed
  }

  let configuration: RTSPServerConfiguration
  let makeRandom: @Sendable () -> UInt64
  var state = State.initial
  private var lastActivity: MediaTime
  /// The nonce that this connection has entered with. It does not expire: many players cannot renew one in mid-play.
  private var nonce: String?

  /// The state of a new connection.
  ///
  /// - Parameter makeRandom: Gives unpredictable numbers for session identifiers.
  public init(configuration: RTSPServerConfiguration, now: MediaTime, makeRandom: @escaping @Sendable () -> UInt64) {
    self.configuration = configuration
    self.makeRandom = makeRandom
    self.lastActivity = now
  }

  /// Handles a request.
  ///
  /// While PLAY waits (``isStarting``) the connection hands over nothing; a request that comes all the same gets 455.
  public mutating func handle(
    _ request: RTSPRequest, directory: some RTSPStreamDirectory, now: MediaTime
  ) -> [RTSPServerAction] {
    if case .closed = self.state { return [] }
    self.lastActivity = max(self.lastActivity, now)
    guard let cSeq = request.headers["CSeq"], !cSeq.isEmpty, cSeq.utf8.allSatisfy(\.isDigit) else {
      return [self.respond(.badRequest)]
    }
    if let refusal = self.refusal(of: request, cSeq: cSeq, now: now) { return [.respond(refusal)] }
    switch request.method {
    case .options: return [self.respond(.ok, cSeq: cSeq, ["Public": Self.publicMethods])]
    case .describe: return self.describe(request, cSeq: cSeq, directory: directory)
    case .setup: return self.setUp(request, cSeq: cSeq, directory: directory)
    case .play: return self.play(request, cSeq: cSeq, directory: directory, now: now)
    case .pause: return self.pause(request, cSeq: cSeq, directory: directory)
    case .teardown: return self.tearDown(request, cSeq: cSeq, directory: directory)
    default: return self.handleParameters(request, cSeq: cSeq)
    }
  }

  /// Handles a malformed message: responds with its status, and closes the connection when the framing is lost.
  public mutating func handle(_ message: RTSPMalformedMessage, now: MediaTime) -> [RTSPServerAction] {
    if case .closed = self.state { return [] }
    let response = self.respond(RTSPStatus(rejecting: message.error), cSeq: message.cSeq)
    return message.canContinue ? [response] : [response] + self.close()
  }

  /// Notes a sign of life that is no request: an RTCP packet for this session, or an answer.
  ///
  /// Without a session it counts for nothing: a connection must not be held open by bytes alone.
  public mutating func handleActivity(now: MediaTime) {
    if self.sessionTracks != nil { self.lastActivity = max(self.lastActivity, now) }
  }

  /// Does what is due; to be called when ``nextDeadline`` has come, harmless earlier.
  public mutating func handleTimer(now: MediaTime) -> [RTSPServerAction] {
    guard let deadline = self.nextDeadline, deadline <= now else { return [] }
    if case .starting = self.state { return self.playingFailed(now: now) }
    return self.close()
  }

  /// When ``handleTimer(now:)`` has something to do; nil after the end.
  public var nextDeadline: MediaTime? {
    switch self.state {
    case .closed: nil
    case .starting(_, _, let since): since + self.configuration.startTimeout
    case .initial, .ready, .playing: self.lastActivity + self.configuration.timeout
    }
  }

  /// Whether PLAY waits for media, during which no request may be handled.
  public var isStarting: Bool {
    if case .starting = self.state { true } else { false }
  }

  /// The name of the stream that is set up; the end of that one is told with ``handleStreamEnded()``.
  public var streamName: String? { self.sessionTracks?.stream.name }

  /// The track that an interleaved packet from the client belongs to, and whether it is RTCP; nil for a channel that is
  /// not set up, whose packets count for nothing.
  public func track(forChannel channel: UInt8) -> (index: Int, isRTCP: Bool)? {
    self.sessionTracks?.track(forChannel: channel)
  }

  /// The stream has ended: the client is let go, so that it can connect anew.
  public mutating func handleStreamEnded() -> [RTSPServerAction] {
    if self.sessionTracks == nil { return [] }
    return self.handleShutdown()
  }

  /// The server ends, or the connection must not live longer.
  public mutating func handleShutdown() -> [RTSPServerAction] {
    switch self.state {
    case .closed: []
    case .starting(_, let cSeq, _): [self.respond(.serviceUnavailable, cSeq: cSeq)] + self.close()
    case .initial, .ready, .playing: self.close()
    }
  }

  /// What is set up, in any state that has a session.
  var sessionTracks: RTSPSessionTracks? {
    switch self.state {
    case .ready(let tracks), .starting(let tracks, _, _), .playing(let tracks): tracks
    case .initial, .closed: nil
    }
  }

  /// An answer with the headers that all have.
  func respond(_ status: RTSPStatus, cSeq: String? = nil, _ headers: RTSPHeaders = [:]) -> RTSPServerAction {
    .respond(self.response(status, cSeq: cSeq, headers))
  }

  /// Leaves the stream if it was joined, and closes.
  private mutating func close() -> [RTSPServerAction] {
    defer { self.state = .closed }
    switch self.state {
    case .starting, .playing: return [.stopPlaying, .close]
    case .initial, .ready, .closed: return [.close]
    }
  }

  /// What every request must meet before it is looked at closer.
  private mutating func refusal(of request: RTSPRequest, cSeq: String, now: MediaTime) -> RTSPResponse? {
    if self.isStarting { return self.notValidInThisState(cSeq: cSeq) }
    guard Self.methods.contains(request.method) else {
      return self.response(.notImplemented, cSeq: cSeq, ["Public": Self.publicMethods])
    }
    if let required = request.headers.list(of: "Require") ?? request.headers.list(of: "Proxy-Require") {
      return self.response(.optionNotSupported, cSeq: cSeq, ["Unsupported": required])
    }
    // FFmpeg and GStreamer ask for OPTIONS before they know that a password is needed, and as a sign of life.
    if request.method == .options { return nil }
    switch self.configuration.authenticator.judge(request, enteredWith: self.nonce, now: now) {
    case .accepted(let nonce):
      self.nonce = nonce ?? self.nonce
    case .rejected(let stale):
      var headers: RTSPHeaders = [:]
      for challenge in self.configuration.authenticator.challenges(stale: stale, now: now) {
        headers.append("WWW-Authenticate", challenge)
      }
      return self.response(.unauthorized, cSeq: cSeq, headers)
    }
    // A session belongs to its connection, so a client may leave the identifier out; a wrong one is an error.
    guard let session = request.headers["Session"] else { return nil }
    let identifier = session.splitOutsideQuotes(UInt8(ascii: ";"))[0]
    return identifier == self.sessionTracks?.id ? nil : self.response(.sessionNotFound, cSeq: cSeq)
  }
}
