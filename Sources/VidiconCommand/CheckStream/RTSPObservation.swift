import Media

/// Facts about a stream of an RTSP server that was played for some seconds. Times are in seconds.
struct RTSPObservation: Equatable, Sendable {
  /// A response of the server.
  struct Exchange: Equatable, Sendable {
    /// Method of the request.
    var method: String
    /// Status of RTSP.
    var status: Int
    /// Time from the request to the response.
    var seconds: Double
  }

  /// Outcome of a request for datagrams.
  enum Datagrams: Equatable, Sendable {
    /// None was made, as over TLS.
    case notRequested
    /// The server has refused the transport, with its status.
    case refused(Int)
    /// The server has accepted, and nothing has arrived, while the same track has over TCP.
    case silent
    /// Datagrams have arrived.
    case received
    /// The second session of this check was not possible, or the track has paused meanwhile.
    case unknown
  }

  /// Reason for there being no stream.
  enum Failure: Equatable, Sendable {
    /// The server has refused a request; the last exchange is that.
    case refused
    /// Other codecs, no tracks, a redirection, or a server that does not interleave.
    case unsupported
    /// A response that breaks the protocol, such as a session description that cannot be parsed.
    case invalid
    /// The server does not speak RTSP.
    case notRTSP
    /// The server has closed the connection.
    case closed
  }

  var exchanges: [Exchange] = []
  /// Schemes that the server has asked for, such as `Digest` and `Basic`.
  var loginSchemes: [String] = []
  /// Whether the address has a user.
  var hasCredentials = false
  /// Whether the connection has TLS.
  var isEncrypted = false
  /// Tracks of the session description.
  var announced: [AnnouncedTrack] = []
  /// Reason for there being no stream; nil while there is none.
  var failure: Failure?
  /// `Location` of the response that redirects, which may have secrets; nil without one.
  var location: String?
  /// Reason for which a redirect is not followed.
  var redirectProblem = ConnectionFailure.Redirect.invalid
  /// Method of the request that has no response; nil where all have one.
  var pendingMethod: String?
  /// Time at which PLAY was sent, on the clock of all sessions; nil before.
  var start: MediaTime?
  /// Whether the server has accepted PLAY.
  var isPlaying = false
  var tracks: [TrackObservation] = []
  /// Status of a keep-alive request while playing; nil without a response.
  var keepAliveStatus: Int?
  /// Whether a keep-alive request was sent.
  var isKeepAliveSent = false
  /// Time after PLAY at which the server has closed the connection; nil where it has not.
  var closed: Double?
  var datagrams = Datagrams.notRequested

  /// Status of the response that redirects; nil without one.
  var redirectStatus: Int? {
    guard self.failure == .unsupported, let last = self.exchanges.last, (300..<400).contains(last.status) else {
      return nil
    }
    return last.status
  }

  /// Whether the server does not send over TCP.
  var refusesTCP: Bool {
    guard self.failure == .unsupported, let last = self.exchanges.last else { return false }
    return last.method == "SETUP" && !(300..<400).contains(last.status)
  }
}
