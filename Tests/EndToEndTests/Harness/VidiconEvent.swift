/// One line that `vidicon serve --json` prints.
struct VidiconEvent: Decodable {
  /// One stream, in the first line and in each status line.
  struct Stream: Decodable {
    var name: String
    var urls: [String]?
    var framesIn: Int?
    var framesDropped: Int?
    var framesEncoded: Int?
    var audioFramesPassedThrough: Int?
    var isSlateShown: Bool?
    /// Bits a second.
    var bitrate: Double?
    var viewers: Int?
    var keyframeRequests: Int?
    var bytesSent: Int?
    /// Of both, none where there are no effects.
    var faces: Int?
    var effectMilliseconds: Double?
  }

  var event: String
  var rtspPort: Int?
  var rtspsPort: Int?
  var httpPort: Int?
  var httpsPort: Int?
  var certificateFingerprint: String?
  var streams: [Stream]?
  /// What was chosen when no source was asked for.
  var choice: String?
}
