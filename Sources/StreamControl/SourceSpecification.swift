public import Capture
public import Media
public import MediaInput

/// The video and audio source of a stream, as users of the program write them.
///
/// | video         | source                                                |
/// |---------------|-------------------------------------------------------|
/// | `plasma`      | ``PlasmaCapturer``                                    |
/// | `noise`       | ``NoiseCapturer``                                     |
/// | `bars`        | ``BarsCapturer``                                      |
/// | `file:PATH`   | ``FileSource``, of a path or URL                      |
/// | `pipe:`       | ``PipeCapturer``, from standard input                 |
/// | `v4l2:CAMERA` | a camera, as ``CameraSpecification`` has it      |
/// | `screen:…`    | a screen, as ``ScreenSpecification`` says             |
/// | `rtsp://…`    | ``NetworkSource``, see ``NetworkSpecification``       |
/// | `rtmp:`       | ``PublishedSource``: a publisher comes                |
/// | `rtsp:`       | ``PublishedSource``: a publisher comes                |
/// | `whip:`       | ``PublishedSource``: a publisher comes                |
///
/// | audio       | source                                                                     |
/// |-------------|----------------------------------------------------------------------------|
/// | `auto`      | the file's or network source's own, a tone with generated video, a microphone with a camera, none with others |
/// | `tone`      | ``ToneCapturer``                                                           |
/// | `silence`   | ``SilenceCapturer``                                                        |
/// | `file:PATH` | the audio of a ``FileSource``                                              |
/// | `rtsp://…`  | the audio of a ``NetworkSource``                                           |
/// | `mic:NAME`  | a microphone, of a ``MicrophoneSpecification``                             |
/// | `none`      | no audio track                                                             |
///
/// The program parses it from options and files, ``SourceCatalog`` makes it of names; ``Sources`` opens what it names, on a thread that may
/// block:
///
/// ```swift
/// let specification = try SourceSpecification(video: "v4l2:/dev/video0", audio: "mic:")
/// let sources = try Sources(specification, devices: devices)
/// ```
public struct SourceSpecification: Hashable, Sendable {
  /// Kinds of video sources, with their options.
  public enum Video: Hashable, Sendable {
    /// Moving colors.
    case plasma
    /// White noise.
    case noise
    /// Color bars with the time of day.
    case bars
    /// The video track of a file.
    case file(path: String)
    /// YUV4MPEG2 on standard input.
    case pipe
    /// A camera.
    case camera(CameraSpecification)
    /// A screen or window of X11.
    case screen(ScreenSpecification)
    /// A network stream.
    case network(NetworkSpecification)
    /// Media that a publisher sends over RTMP, RTSP or WebRTC.
    case published(PublishedSource.Scheme)
    /// A source of a catalog of the program's own, by its name.
    case other(String)
  }

  /// Kinds of audio sources, with their options.
  public enum Audio: Hashable, Sendable {
    /// The audio source that belongs to the video source.
    case auto
    /// A beep each second.
    case tone
    /// Silence.
    case silence
    /// The audio track of a file.
    case file(path: String)
    /// The audio of a network stream.
    case network(NetworkSpecification)
    /// A microphone.
    case microphone(MicrophoneSpecification)
    /// No audio track.
    case none
    /// A source of a catalog of the program's own, by its name.
    case other(String)
  }

  /// The source of the video track.
  public var video: Video
  /// The source of the audio track; `auto` for the audio that belongs to the video source.
  public var audio: Audio

  /// Creates a specification; by default the audio belongs to the video source.
  public init(video: Video, audio: Audio = .auto) {
    self.video = video
    self.audio = audio
  }

  /// Parses both texts.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names the valid forms.
  public init(video: String, audio: String = "auto") throws(VidiconError) {
    self.video = try Video(parsing: video)
    self.audio = try Audio(parsing: audio)
  }
}

extension SourceSpecification.Video {
  /// Parses `plasma`, `noise`, `bars`, `file:PATH`, `pipe:`, `rtmp:`, `rtsp:`, `whip:`, `v4l2:CAMERA`, `screen:…` or a network
  /// address.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names the valid forms.
  public init(parsing text: String) throws(VidiconError) {
    self = try Self(naming: text)
    if case .other = self { throw SourceSpecification.unknownVideo(text) }
  }

  /// Parses a name as ``init(parsing:)``; any other one is a source of a catalog of the program's own.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification`` for options that a camera, screen or address does
  ///   not have.
  public init(naming text: String) throws(VidiconError) {
    switch text {
    case "plasma": self = .plasma
    case "noise": self = .noise
    case "bars": self = .bars
    case "pipe:": self = .pipe
    case _ where NetworkSpecification.matches(text): self = .network(try NetworkSpecification(parsing: text))
    case _ where text.hasPrefix("screen:"): self = .screen(try ScreenSpecification(parsing: text))
    case _ where text.hasPrefix("v4l2:"):
      self = .camera(try CameraSpecification(parsing: String(text.dropFirst(5))))
    default:
      let scheme = PublishedSource.Scheme.allCases.first { $0.sourceName == text }
      self =
        scheme.map { .published($0) } ?? SourceSpecification.path(text).map { .file(path: $0) } ?? .other(text)
    }
  }

  /// The name in the syntax of ``init(parsing:)``, passwords included: it must not be displayed or logged.
  public var name: String {
    switch self {
    case .plasma: "plasma"
    case .noise: "noise"
    case .bars: "bars"
    case .pipe: "pipe:"
    case .file(let path): "file:\(path)"
    case .camera(let camera): "\(camera)"
    case .screen(let screen): "\(screen)"
    case .network(let address): address.sourceName
    case .published(let scheme): scheme.sourceName
    case .other(let name): name
    }
  }
}

extension SourceSpecification.Audio {
  /// Parses `auto`, `tone`, `silence`, `file:PATH`, `mic:NAME`, `none` or a network address.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names the valid forms.
  public init(parsing text: String) throws(VidiconError) {
    self = try Self(naming: text)
    if case .other = self { throw SourceSpecification.unknownAudio(text) }
  }

  /// Parses a name as ``init(parsing:)``; any other one is a source of a catalog of the program's own.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification`` for options that a microphone or address does not
  ///   have.
  public init(naming text: String) throws(VidiconError) {
    switch text {
    case "auto": self = .auto
    case "tone": self = .tone
    case "silence": self = .silence
    case "none": self = .none
    case _ where text.hasPrefix("mic:"): self = .microphone(try MicrophoneSpecification(parsing: text))
    case _ where NetworkSpecification.matches(text): self = .network(try NetworkSpecification(parsing: text))
    default: self = SourceSpecification.path(text).map { .file(path: $0) } ?? .other(text)
    }
  }

  /// The name in the syntax of ``init(parsing:)``, passwords included: it must not be displayed or logged.
  public var name: String {
    switch self {
    case .auto: "auto"
    case .tone: "tone"
    case .silence: "silence"
    case .none: "none"
    case .file(let path): "file:\(path)"
    case .network(let address): address.sourceName
    case .microphone(let microphone): "\(microphone)"
    case .other(let name): name
    }
  }
}

extension SourceSpecification {
  /// Whether a source accepts any TLS certificate (`?insecure=1`).
  package var acceptsAnyCertificate: Bool { self.video.acceptsAnyCertificate || self.audio.acceptsAnyCertificate }
}

extension SourceSpecification.Video {
  var acceptsAnyCertificate: Bool { if case .network(let address) = self { address.isInsecure } else { false } }
}

extension SourceSpecification.Audio {
  var acceptsAnyCertificate: Bool { if case .network(let address) = self { address.isInsecure } else { false } }
}

extension SourceSpecification.Video: ExpressibleByStringInterpolation {
  /// A source by its name, as in `replace(video: "bars")`; one that cannot be parsed fails when it is opened.
  public init(stringLiteral name: String) {
    self = (try? Self(naming: name)) ?? .other(name)
  }
}

extension SourceSpecification.Audio: ExpressibleByStringInterpolation {
  /// A source by its name, as in `replace(audio: "mic:")`; one that cannot be parsed fails when it is opened.
  public init(stringLiteral name: String) {
    self = (try? Self(naming: name)) ?? .other(name)
  }
}

extension SourceSpecification {
  /// The path in `file:PATH`.
  fileprivate static func path(_ text: String) -> String? {
    text.hasPrefix("file:") && text.utf8.count > 5 ? String(text.dropFirst(5)) : nil
  }

  /// The error of a name that is not that of a video source.
  static func unknownVideo(_ name: String) -> VidiconError {
    self.unknown(
      name, "it is not a video source",
      "use plasma, noise, bars, file:PATH, pipe:, rtmp:, rtsp:, whip:, v4l2:, v4l2:CAMERA, screen: or rtsp://…")
  }

  /// The error of a name that is not that of an audio source.
  static func unknownAudio(_ name: String) -> VidiconError {
    self.unknown(
      name, "it is not an audio source", "use auto, tone, silence, file:PATH, mic:, mic:NAME, none or rtsp://…")
  }

  private static func unknown(_ text: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: text.isEmpty ? "\"\"" : text.withoutCredentials(),
      cause: text == "file:" ? "no path is given" : cause, nextStep: text == "file:" ? "write file:PATH" : nextStep)
  }
}
