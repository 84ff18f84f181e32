/// One line of `vidicon serve --json`.
struct VidiconEvent: Decodable {
  /// One stream, in events "started" and "status".
  struct Stream: Decodable {
    var name: String
    var urls: [String]?
    /// Addresses of publishers to the source whip:.
    var publish: [String]?
    var framesIn: Int?
    var framesDropped: Int?
    var framesEncoded: Int?
    var audioFramesPassedThrough: Int?
    var framesPassedThrough: Int?
    var isSlateShown: Bool?
    var isSourceWaiting: Bool?
    /// Bits per second.
    var bitrate: Double?
    var viewers: Int?
    var keyframeRequests: Int?
    var bytesSent: Int?
    /// Faces and processing time are present only with effects.
    var faces: Int?
    var effectMilliseconds: Double?
    /// In events "status".
    var pushes: [Push]?
    var renditions: [Rendition]?
    var datagramsDropped: Int?
    /// In events "status" of the source whip:.
    var publisher: Publisher?
  }

  /// The publishers of a stream over WebRTC.
  struct Publisher: Decodable {
    var live: Bool
    var video: String?
    var audio: String?
    var framesReceived: Int
    var framesDropped: Int
    var packetsLost: Int
    var keyframesRequested: Int
    var sessionsOpened: Int
    var sessionsTakenOver: Int
    var attemptsRefused: Int
  }

  /// A further rendition of a stream.
  struct Rendition: Decodable {
    var name: String
    var width: Int
    var height: Int
    var bitrate: Int
    var encoding: Bool
    var failed: Bool
    var framesEncoded: Int
    var framesDropped: Int
    var encodeMilliseconds: Double?
    /// By protocol.
    var viewers: [String: Int]
  }

  /// A push of a stream.
  struct Push: Decodable {
    var id: Int
    var server: String
    var state: String
    /// Bits per second that were sent lately, and of the video that is encoded for it.
    var bitrate: Int
    var videoBitrate: Int
    var ownEncoding: Bool
    var waitingForEncoding: Bool
    /// Seconds.
    var queue: Double
    var framesDropped: Int
    var audioFramesDropped: Int
    var reconnects: Int
    var failedAttempts: Int
    var bytesSent: Int
    var lastFailure: String?
  }

  var event: String
  var rtspPort: Int?
  var rtspsPort: Int?
  var rtmpPort: Int?
  var rtmpsPort: Int?
  var httpPort: Int?
  var httpsPort: Int?
  var authorityFingerprint: String?
  var certificateFingerprint: String?
  var streams: [Stream]?
  /// By reason, in events "status".
  var refusals: [String: Int]?
  var acceptFailures: Int?
  var linesDropped: Int?
  /// The chosen source, when none was given.
  var choice: String?
  /// Path of the file with the operator token.
  var controlTokenFile: String?
  /// Change of a recording, and its file, in events "recording".
  var change: String?
  var path: String?
  /// Sentences about what strangers may do.
  var access: [String]?
}
