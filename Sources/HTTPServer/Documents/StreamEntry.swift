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
    let path = HTTPTarget.path(ofStream: stream.name)
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
      case .h264(let video): self.video = Video(video, bitrate: stream.videoBitrate)
      case .aac(let audio): self.audio = Audio(audio, bitrate: stream.audioSettings.bitrate)
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
    self.startedAt = HTTPDate.precise(unixNanoseconds: published.publishedAt)
  }
}

extension StreamEntry.Video {
  /// `avc1.` and profile, constraints and level out of the parameter set, RFC 6381 §3.3.
  init(_ description: H264Description, bitrate: Int) {
    let bytes = description.sequenceParameterSet.dropFirst().prefix(3)
    let digits = bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }
    self.init(
      codec: "avc1." + digits.joined(), width: description.width, height: description.height,
      frameRate: description.frameRate.framesPerSecond, bitrate: bitrate)
  }
}

extension StreamEntry.Audio {
  /// `mp4a.40.` and the audio object type, RFC 6381 §3.3.
  init(_ description: AACDescription, bitrate: Int) {
    let type = (description.audioSpecificConfig.first ?? 0x10) >> 3
    self.init(
      codec: "mp4a.40.\(type)", sampleRate: description.format.sampleRate,
      channels: description.format.channelCount, bitrate: bitrate)
  }
}
