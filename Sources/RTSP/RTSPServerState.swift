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
/// A client that sends a stream announces it, and then sets up its tracks:
///
/// ```
///              ANNOUNCE            finishAnnouncement            RECORD
///   initial ────────────▶ announcing ────────────────▶ announced ───────▶ recording
///      ▲                      │                         │    ▲      PAUSE  │    │
///      └──────────────────────┴─────────────────────────┘    └─────────────┘    │
///      └────────────────────────── TEARDOWN ───────────────────────────────────┘
/// ```
///
/// ``close()`` leads from every state to `closed`. Copyable: Swift 6.3's optimizer copies it where it is switched over, which traps
/// for a type without copies. Transitions consume it, so that its tracks are not copied.
enum RTSPServerState {
  /// No session.
  case initial
  /// Tracks are set up, nothing is sent.
  case ready(RTSPSessionTracks)
  /// PLAY with this `CSeq` waits for the first packet since this time.
  case starting(RTSPSessionTracks, cSeq: String, since: MediaTime)
  /// Packets are sent.
  case playing(RTSPSessionTracks)
  /// ANNOUNCE with this `CSeq` waits for its acceptance.
  case announcing(RTSPPublication, cSeq: String)
  /// The client may send a stream, whose tracks it sets up.
  case announced(RTSPPublication)
  /// The client sends packets.
  case recording(RTSPPublication)
  /// The connection is closed or about to be; all input is ignored.
  case closed

  /// The tracks that are set up, in every state with a session.
  var tracks: RTSPSessionTracks? {
    switch self {
    case .initial: nil
    case .ready(let tracks): tracks
    case .starting(let tracks, _, _): tracks
    case .playing(let tracks): tracks
    case .announcing: nil
    case .announced(let publication): publication.tracks
    case .recording(let publication): publication.tracks
    case .closed: nil
    }
  }

  /// The stream that the client may send; nil in other states.
  var publication: RTSPPublication? {
    switch self {
    case .announced(let publication): publication
    case .recording(let publication): publication
    default: nil
    }
  }

  /// Whether there is no session.
  var isInitial: Bool {
    switch self {
    case .initial: true
    default: false
    }
  }

  /// Whether ANNOUNCE waits for its acceptance.
  var isAnnouncing: Bool {
    switch self {
    case .announcing: true
    default: false
    }
  }

  /// Whether the client sends packets.
  var isRecording: Bool {
    switch self {
    case .recording: true
    default: false
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
    case .announced(var publication):
      publication.tracks = tracks
      self = .announced(publication)
      return true
    case let state:
      self = state
      return false
    }
  }

  /// Starts to wait for the acceptance of an announcement; only without a session.
  mutating func announce(_ publication: RTSPPublication, cSeq: String) {
    if self.isInitial { self = .announcing(publication, cSeq: cSeq) }
  }

  /// Ends the wait of ANNOUNCE.
  ///
  /// - Returns: The `CSeq` of ANNOUNCE; nil without effect when none waits.
  mutating func finishAnnouncement(isAccepted: Bool) -> String? {
    switch consume self {
    case .announcing(let publication, let cSeq):
      self = isAccepted ? .announced(publication) : .initial
      return cSeq
    case let state:
      self = state
      return nil
    }
  }

  /// Starts the reception of packets.
  ///
  /// - Returns: False without effect in other states than announced.
  mutating func record() -> Bool {
    switch consume self {
    case .announced(let publication):
      self = .recording(publication)
      return true
    case let state:
      self = state
      return false
    }
  }

  /// Stops the reception of packets; the tracks stay set up.
  mutating func pauseRecording() {
    switch consume self {
    case .recording(let publication): self = .announced(publication)
    case let state: self = state
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
