internal import Media

/// The state of the server's side of one RTSP connection, and its transitions, RFC 2326 appendix A.2.
///
/// ```
///              SETUP            PLAY               playingStarted
///   initial ──────────▶ ready ────────▶ starting ─────────────────▶ playing
///      ▲                │   ▲              │                         │    │
///      │   TEARDOWN     │   │ failStart    │                         │    │
///      ├────────────────┘   ├──────────────┘                  PAUSE  │    │
///      │                    └────────────────────────────────────────┘    │
///      └──────────────────────────────────────────────────────────────────┘
/// ```
///
/// ``close()`` leads from every state to `closed`.
enum RTSPServerState: ~Copyable {
  /// No session.
  case initial
  /// Tracks are set up, nothing is sent.
  case ready(RTSPSessionTracks)
  /// PLAY with this `CSeq` waits for the first packet since this time.
  case starting(RTSPSessionTracks, cSeq: String, since: MediaTime)
  /// Packets are sent.
  case playing(RTSPSessionTracks)
  /// The connection is closed or about to be; all input is ignored.
  case closed

  /// The tracks that are set up, in every state with a session.
  var tracks: RTSPSessionTracks? {
    switch self {
    case .initial: nil
    case .ready(let tracks): tracks
    case .starting(let tracks, _, _): tracks
    case .playing(let tracks): tracks
    case .closed: nil
    }
  }

  /// Whether PLAY waits for the first packet.
  var isStarting: Bool {
    switch self {
    case .starting: true
    default: false
    }
  }

  /// Whether packets are sent.
  var isPlaying: Bool {
    switch self {
    case .playing: true
    default: false
    }
  }

  /// Whether the connection has ended.
  var isClosed: Bool {
    switch self {
    case .closed: true
    default: false
    }
  }

  /// Replaces the tracks that are set up; only before PLAY.
  ///
  /// - Returns: False without effect in other states.
  mutating func setUp(_ tracks: RTSPSessionTracks) -> Bool {
    switch consume self {
    case .initial:
      self = .ready(tracks)
      return true
    case .ready:
      self = .ready(tracks)
      return true
    case let state:
      self = state
      return false
    }
  }

  /// Starts to wait for the first packet.
  ///
  /// - Returns: The tracks to play; nil without effect when the state is not ready.
  mutating func start(cSeq: String, now: MediaTime) -> RTSPSessionTracks? {
    switch consume self {
    case .ready(let tracks):
      self = .starting(tracks, cSeq: cSeq, since: now)
      return tracks
    case let state:
      self = state
      return nil
    }
  }

  /// Ends the wait of PLAY with the first packet.
  ///
  /// - Returns: The tracks, and the `CSeq` of PLAY; nil without effect when the state is not starting.
  mutating func finishStart() -> (tracks: RTSPSessionTracks, cSeq: String)? {
    switch consume self {
    case .starting(let tracks, let cSeq, _):
      self = .playing(tracks)
      return (tracks, cSeq)
    case let state:
      self = state
      return nil
    }
  }

  /// Ends the wait of PLAY without a packet.
  ///
  /// - Returns: The tracks, and the `CSeq` of PLAY; nil without effect when the state is not starting.
  mutating func failStart() -> (tracks: RTSPSessionTracks, cSeq: String)? {
    switch consume self {
    case .starting(let tracks, let cSeq, _):
      self = .ready(tracks)
      return (tracks, cSeq)
    case let state:
      self = state
      return nil
    }
  }

  /// Stops the sending of packets; the tracks stay set up.
  ///
  /// - Returns: False without effect when no packets are sent.
  mutating func pause() -> Bool {
    switch consume self {
    case .playing(let tracks):
      self = .ready(tracks)
      return true
    case let state:
      self = state
      return false
    }
  }

  /// Ends the session, not the connection.
  ///
  /// - Returns: Whether packets were sent.
  mutating func tearDown() -> Bool {
    let isPlaying = self.isPlaying
    if !self.isClosed { self = .initial }
    return isPlaying
  }

  /// Ends the connection.
  ///
  /// - Returns: Whether the stream was joined: packets were sent, or PLAY waited for the first one.
  mutating func close() -> Bool {
    let isJoined = self.isPlaying || self.isStarting
    self = .closed
    return isJoined
  }
}
