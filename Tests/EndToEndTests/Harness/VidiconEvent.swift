/// One line of `vidicon serve --json`.
struct VidiconEvent: Decodable {
  /// One stream, in events "started" and "status".
  struct Stream: Decodable {
    var name: String
    var urls: [String]?
    var framesIn: Int?
    var framesDropped: Int?
    var framesEncoded: Int?
    var audioFramesPassedThrough: Int?
    var framesPassedThrough: Int?
    var isSlateShown: Bool?
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
  /// What happened to a recording, and to which file, in events "recording".
  var change: String?
  var path: String?
  /// Sentences about what strangers may do.
  var access: [String]?
}
