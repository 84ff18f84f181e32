internal import Bitstreams
package import Capture
package import Effects
package import Media
package import StreamControl
package import Streaming

/// Response of `/api/streams`.
package struct StreamList: Codable, Hashable, Sendable {
  /// Wall-clock time of the response, RFC 3339.
  package var time: String
  package var streams: [StreamEntry]

  /// Creates a list with the time at which it is made.
  package init(time: String, streams: [StreamEntry]) {
    self.time = time
    self.streams = streams
  }
}

/// Response of `/api/streams/NAME`, and element of `/api/streams`. Keys are documented in `openapi.json`.
package struct StreamEntry: Codable, Hashable, Sendable {
  /// Format and target bitrate of the video.
  package struct Video: Codable, Hashable, Sendable {
    package var codec: String
    package var width: Int
    package var height: Int
    package var frameRate: Double
    package var bitrate: Int
  }

  /// Format and bitrate of the audio.
  package struct Audio: Codable, Hashable, Sendable {
    package var codec: String
    package var sampleRate: Int
    package var channels: Int
    package var bitrate: Int
  }

  /// Source specifications; nil for sources without one.
  package struct Source: Codable, Hashable, Sendable {
    package var video: String?
    package var audio: String?
    /// Whether a source accepts any TLS certificate.
    package var insecure: Bool
    /// Sources at the start of the stream.
    package var started: SourceNames

    /// Describes the sources as a client may see them.
    package init(_ sources: StreamSources, to audience: SourceAudience) {
      let current = sources.shown(to: audience)
      (self.video, self.audio) = (current.video, current.audio)
      self.insecure = sources.acceptsAnyCertificate
      self.started = sources.start.shown(to: audience)
    }
  }

  /// Audio level in dBFS, -120 to 0, in steps of 0.1.
  package struct Level: Codable, Hashable, Sendable {
    package var peak: Double
    package var rms: Double

    /// Rounds a level, and limits it to the range.
    package init(_ level: AudioLevel) {
      func tenths(_ level: Double) -> Double { (max(-120, min(0, level)) * 10).rounded() / 10 }
      (self.peak, self.rms) = (tenths(level.peak), tenths(level.rms))
    }
  }

  /// Settings of the video effects.
  package struct Effects: Codable, Hashable, Sendable {
    /// nil where a server of a later version has settings that this one does not know.
    package var settings: EffectSettings?

    /// Describes settings.
    package init(_ settings: EffectSettings) {
      self.settings = settings
    }

    /// Decodes settings; those that are not known are no error, unlike in ``EffectSettings``.
    package init(from decoder: any Decoder) {
      self.settings = try? EffectSettings(from: decoder)
    }

    /// Encodes the settings, without a key of their own.
    package func encode(to encoder: any Encoder) throws {
      try self.settings.encode(to: encoder)
    }
  }

  package var name: String
  package var page: String
  package var snapshot: String
  package var mjpeg: String
  package var hls: String
  package var ts: String
  /// Path at which WebRTC viewers open sessions (WHEP); nil where WebRTC is off.
  package var whep: String?
  /// Path at which WebRTC publishers open sessions (WHIP); nil where the source is another one.
  package var whip: String?
  /// WebRTC publishers; nil where the source is another one.
  package var publisher: PublisherEntry?
  /// Path of the recorder; nil without one.
  package var recording: String?
  package var rtsp: [String] = []
  /// Empty when RTMP is off.
  package var rtmp: [String] = []
  package var http: [String] = []
  package var video: Video?
  package var audio: Audio?
  /// Smaller encodings of the stream; each costs nothing while it has no viewer. Absent in responses of older servers.
  package var renditions: [RenditionEntry]? = []
  /// Current viewers by protocol.
  package var viewers: [String: Int] = [:]
  /// Viewers over WebRTC with what is measured of their networks, the first hundred; nil where WebRTC is off.
  package var webrtcViewers: [ViewerEntry]?
  package var framesIn: Int
  package var framesEncoded: Int
  package var framesPassedThrough: Int
  package var audioFramesPassedThrough: Int
  package var framesDropped: Int
  /// Maximum time that packets, or a task of each second, have waited for an event loop, in the last 10 to 20 s; in seconds.
  package var loopLag = 0.0
  package var slate: Bool
  package var startedAt: String
  /// The client's role: `viewer`, `operator` or `publisher`.
  package var role: String?
  /// Whether the client may change the stream.
  package var steerable: Bool?
  /// Name of the ``LoginMethod`` by which the client can log in to control.
  package var login: String?
  // Present only where the stream can be changed.
  package var source: Source?
  package var bitrate: Int?
  package var mirror: Bool?
  package var rotation: Int?
  package var mute: Bool?
  package var pause: Bool?
  package var previewMirrored: Bool?
  package var level: Level?
  package var effects: Effects?
  /// Values of the video device's controls by name.
  package var controls: [String: Int]?
  /// Descriptions of these controls.
  package var controlList: [ControlEntry]?

  /// Describes a stream without its addresses, renditions, viewers, publishers and controls, and the rights of the client.
  ///
  /// - Parameter servedSince: Unix time at which serving began.
  package init(_ stream: LiveStream, servedSince: MediaDuration) {
    let path = stream.path
    let statistics = stream.statistics
    self.name = stream.name
    self.page = path
    self.snapshot = "\(path)/snapshot.jpg"
    self.mjpeg = "\(path)/mjpeg"
    self.hls = "\(path)/index.m3u8"
    self.ts = "\(path)/playlist.m3u8"
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
    self.framesIn = statistics.framesIn
    self.framesEncoded = statistics.framesEncoded
    self.framesPassedThrough = statistics.framesPassedThrough
    self.audioFramesPassedThrough = statistics.audioFramesPassedThrough
    self.framesDropped = statistics.totalFramesDropped
    self.slate = statistics.isSlateShown
    self.startedAt = CalendarTime(unixTime: servedSince).rfc3339
  }

  /// Adds what can be changed of the stream, with the names of its sources as a client may see them.
  package mutating func setControls(_ controls: StreamControls, of stream: LiveStream, to audience: SourceAudience) {
    self.recording = controls.recording.map { _ in "/api/streams\(self.page)/recording" }
    self.effects = controls.effects.map { Effects($0.settings) }
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
  package mutating func setDeviceControls(_ controls: [DeviceControl]) {
    self.controls = Dictionary(
      controls.filter { $0.kind != .button }.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    self.controlList = controls.map(ControlEntry.init)
  }
}
