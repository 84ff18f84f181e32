internal import Bitstreams
internal import Capture
internal import Effects
internal import Media
internal import Serving
internal import StreamControl
internal import Streaming

/// Response of `/api/streams`.
struct StreamList: Encodable, Sendable {
  /// Wall-clock time of the response, RFC 3339.
  var time: String
  var streams: [StreamEntry]
}

/// Response of `/api/streams/NAME`, and element of `/api/streams`. Keys are documented in `openapi.json`.
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

  /// Source specifications; nil for sources without one.
  struct Source: Encodable, Sendable {
    struct Names: Encodable, Sendable {
      var video: String?
      var audio: String?
    }

    var video: String?
    var audio: String?
    /// Whether a source accepts any TLS certificate.
    var insecure: Bool
    /// Sources at the start of the stream.
    var started: Names

    init(_ sources: StreamSources, to audience: SourceAudience) {
      let (current, start) = (sources.shown(to: audience), sources.start.shown(to: audience))
      (self.video, self.audio) = (current.video, current.audio)
      self.insecure = sources.acceptsAnyCertificate
      self.started = Names(video: start.video, audio: start.audio)
    }
  }

  /// Audio level in dBFS, -120 to 0, in steps of 0.1.
  struct Level: Encodable, Sendable {
    var peak: Double
    var rms: Double

    init(_ level: AudioLevel) {
      func tenths(_ level: Double) -> Double { (max(-120, min(0, level)) * 10).rounded() / 10 }
      (self.peak, self.rms) = (tenths(level.peak), tenths(level.rms))
    }
  }

  var name: String
  var page: String
  var snapshot: String
  var mjpeg: String
  var hls: String
  var ts: String
  /// Path at which WebRTC viewers open sessions (WHEP); nil where WebRTC is off.
  var whep: String?
  /// Path at which WebRTC publishers open sessions (WHIP); nil where the source is another one.
  var whip: String?
  /// WebRTC publishers; nil where the source is another one.
  var publisher: PublisherEntry?
  /// Path of the recorder; nil without one.
  var recording: String?
  var rtsp: [String]
  /// Empty when RTMP is off.
  var rtmp: [String]
  var http: [String]
  var video: Video?
  var audio: Audio?
  /// Smaller encodings of the stream; each costs nothing while it has no viewer.
  var renditions: [RenditionEntry]
  /// Current viewers by protocol.
  var viewers: [String: Int]
  /// Viewers over WebRTC with what is measured of their networks, the first hundred; nil where WebRTC is off.
  var webrtcViewers: [ViewerEntry]?
  var framesIn: Int
  var framesEncoded: Int
  var framesPassedThrough: Int
  var audioFramesPassedThrough: Int
  var framesDropped: Int
  /// Maximum time that packets, or a task of each second, have waited for an event loop, in the last 10 to 20 s; in seconds.
  var loopLag = 0.0
  var slate: Bool
  var startedAt: String
  /// The client's role: `viewer`, `operator` or `publisher`.
  var role = "viewer"
  /// Whether the client may change the stream.
  var steerable = false
  /// The way in which the client can log in to control.
  var login = LoginMethod.none
  // Present only where the stream can be changed.
  var source: Source?
  var bitrate: Int?
  var mirror: Bool?
  var rotation: Int?
  var mute: Bool?
  var pause: Bool?
  var previewMirrored: Bool?
  var level: Level?
  /// Video effects.
  var effects: EffectSettings?
  /// Values of the video device's controls by name.
  var controls: [String: Int]?
  /// Descriptions of these controls.
  var controlList: [ControlEntry]?

  init(_ published: PublishedStream, providers: HTTPServerProviders, at now: MediaTime, audience: SourceAudience) {
    let stream = published.stream
    let path = stream.path
    let addresses = providers.addresses(stream)
    let controls = providers.controls(stream)
    let statistics = stream.statistics
    self.name = stream.name
    self.page = path
    self.snapshot = "\(path)/snapshot.jpg"
    self.mjpeg = "\(path)/mjpeg"
    self.hls = "\(path)/index.m3u8"
    self.ts = "\(path)/playlist.m3u8"
    self.whep = providers.whep.map { _ in "\(path)/whep" }
    if let publisher = providers.publisher(stream) {
      self.whip = "\(path)/whip"
      self.publisher = PublisherEntry(publisher)
    }
    self.recording = controls.recording.map { _ in "/api/streams\(path)/recording" }
    self.rtsp = addresses.rtsp
    self.rtmp = addresses.rtmp
    self.http = addresses.page
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
    self.renditions = stream.renditions.compactMap {
      RenditionEntry($0, of: published, providers: providers, addresses: addresses, at: now)
    }
    let protocols = providers.statistics(stream)
    self.viewers = published.viewers(with: protocols, at: now)
    for other in protocols {
      self.loopLag = max(self.loopLag, (other.statistics.loopLag.seconds * 1000).rounded() / 1000)
      if let list = other.statistics.viewerList {
        self.webrtcViewers = list.prefix(ViewerEntry.maximumCount).map(ViewerEntry.init)
      }
    }
    self.framesIn = statistics.framesIn
    self.framesEncoded = statistics.framesEncoded
    self.framesPassedThrough = statistics.framesPassedThrough
    self.audioFramesPassedThrough = statistics.audioFramesPassedThrough
    self.framesDropped = statistics.totalFramesDropped
    self.slate = statistics.isSlateShown
    self.startedAt = CalendarTime(unixTime: published.publishedAt).rfc3339
    self.effects = controls.effects?.settings
    guard let sources = controls.sources else { return }
    self.source = Source(sources, to: audience)
    self.bitrate = stream.videoBitrate
    self.mirror = stream.isMirrored
    self.rotation = stream.rotation.rawValue
    self.mute = stream.isMuted
    self.pause = stream.isEncodingPaused
    self.previewMirrored = stream.isPreviewMirrored
    self.level = Level(stream.audioLevel)
  }

  /// Adds the controls of the video device.
  mutating func setControls(_ controls: [DeviceControl]) {
    self.controls = Dictionary(
      controls.filter { $0.kind != .button }.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    self.controlList = controls.map(ControlEntry.init)
  }
}

extension PublishedStream {
  /// Current viewers by protocol, with those of other protocols.
  func viewers(with others: [HTTPServerProviders.ProtocolStatistics], at now: MediaTime) -> [String: Int] {
    var viewers = ["rtsp": 0, "hls": self.viewers(of: .hls, at: now), "mjpeg": self.viewers(of: .mjpeg, at: now)]
    for other in others { viewers[other.name] = other.statistics.viewers }
    return viewers
  }
}
