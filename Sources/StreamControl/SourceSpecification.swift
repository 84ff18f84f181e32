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
    switch text {
    case "plasma": self = .plasma
    case "noise": self = .noise
    case "bars": self = .bars
    case "pipe:": self = .pipe
    case "rtmp:": self = .published(.rtmp)
    case "rtsp:": self = .published(.rtsp)
    case "whip:": self = .published(.whip)
    case _ where NetworkSpecification.matches(text):
      self = .network(try NetworkSpecification(parsing: text))
    case _ where text.hasPrefix("screen:"): self = .screen(try ScreenSpecification(parsing: text))
    case let text where text.hasPrefix("v4l2:"):
      self = .camera(try CameraSpecification(parsing: String(text.dropFirst(5))))
    default:
      guard let path = SourceSpecification.path(text) else {
        throw SourceSpecification.unknown(
          text, "it is not a video source",
          "use plasma, noise, bars, file:PATH, pipe:, rtmp:, rtsp:, whip:, v4l2:, v4l2:CAMERA, screen: or rtsp://…")
      }
      self = .file(path: path)
    }
  }
}

extension SourceSpecification.Audio {
  /// Parses `auto`, `tone`, `silence`, `file:PATH`, `mic:NAME`, `none` or a network address.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names the valid forms.
  public init(parsing text: String) throws(VidiconError) {
    switch text {
    case "auto": self = .auto
    case "tone": self = .tone
    case "silence": self = .silence
    case "none": self = .none
    case _ where text.hasPrefix("mic:"): self = .microphone(try MicrophoneSpecification(parsing: text))
    case _ where NetworkSpecification.matches(text):
      self = .network(try NetworkSpecification(parsing: text))
    default:
      guard let path = SourceSpecification.path(text) else {
        throw SourceSpecification.unknown(
          text, "it is not an audio source", "use auto, tone, silence, file:PATH, mic:, mic:NAME, none or rtsp://…")
      }
      self = .file(path: path)
    }
  }
}

extension SourceSpecification {
  /// The path in `file:PATH`.
  fileprivate static func path(_ text: String) -> String? {
    text.hasPrefix("file:") && text.utf8.count > 5 ? String(text.dropFirst(5)) : nil
  }

  fileprivate static func unknown(_ text: String, _ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: text.isEmpty ? "\"\"" : text.withoutCredentials(),
      cause: text == "file:" ? "no path is given" : cause, nextStep: text == "file:" ? "write file:PATH" : nextStep)
  }
}
