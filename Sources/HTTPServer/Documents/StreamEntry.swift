internal import Bitstreams
internal import Media
internal import Streaming

/// What `/api/streams` says.
struct StreamList: Encodable, Sendable {
  /// The server's time of day when the answer was made.
  var time: String
  var streams: [StreamEntry]
}

/// What the API says of one stream.
struct StreamEntry: Encodable, Sendable {
  struct Video: Encodable, Sendable {
    var codec: String
    var width: Int
    var height: Int
    var frameRate: Double
    var bitrate: Int
  }

  struct Audio: Encodable, Sendable {
    var codec: String
    var sampleRate: Int
    var channels: Int
    var bitrate: Int
  }

  var name: String
  var page: String
  var snapshot: String
  var mjpeg: String
  var hls: String
  var ts: String
  /// Where it is recorded.
  var recording: String?
  var rtsp: [String]
  var http: [String]
  var video: Video?
  var audio: Audio?
  /// Viewers now, by protocol.
  var viewers: [String: Int]
  var framesIn: Int
  var framesEncoded: Int
  var framesDropped: Int
  var slate: Bool
  var startedAt: String

  init(_ published: PublishedStream, extras: HTTPServerExtras, at now: MediaTime) {
    let stream = published.stream
    let path = stream.path
    let addresses = extras.addresses(stream)
    let statistics = stream.statistics
    self.name = stream.name
    self.page = path
    self.snapshot = "\(path)/snapshot.jpg"
    self.mjpeg = "\(path)/mjpeg"
    self.hls = "\(path)/index.m3u8"
    self.ts = "\(path)/playlist.m3u8"
    self.recording = extras.recorder(stream).map { _ in "/api/streams\(path)/recording" }
    self.rtsp = addresses.rtsp
    self.http = addresses.http
    for description in stream.descriptions {
      switch description {
      case .h264(let video):
        self.video = Video(
          codec: description.codecName, width: video.width, height: video.height,
          frameRate: video.frameRate.framesPerSecond, bitrate: stream.videoBitrate)
      case .aac(let audio):
        self.audio = Audio(
          codec: description.codecName, sampleRate: audio.format.sampleRate, channels: audio.format.channelCount,
          bitrate: stream.audioSettings.bitrate)
      }
    }
    self.viewers = [
      "rtsp": 0, "hls": published.viewers(of: .hls, at: now), "mjpeg": published.viewers(of: .mjpeg, at: now),
    ]
    for other in extras.statistics(stream) { self.viewers[other.name] = other.viewers }
    self.framesIn = statistics.framesIn
    self.framesEncoded = statistics.framesEncoded
    self.framesDropped = statistics.framesDroppedInAll
    self.slate = statistics.isSlateShown
    self.startedAt = CalendarTime(unixTime: published.publishedAt).rfc3339
  }
}
