public import CaptureDevices
public import Media
public import MediaInput

/// Where a stream's picture and sound come from, as the user of the program writes it.
///
/// | picture       | what                                                  |
/// |---------------|-------------------------------------------------------|
/// | `plasma`      | ``PlasmaCapturer``                                    |
/// | `noise`       | ``NoiseCapturer``                                     |
/// | `bars`        | ``BarsCapturer``                                      |
/// | `file:PATH`   | ``FileSource``, of a path or URL                      |
/// | `pipe:`       | ``PipeCapturer``, from standard input                 |
/// | `v4l2:CAMERA` | ``CameraCapturer``, as ``CameraSpecification`` has it |
/// | `screen:…`    | ``ScreenCapturer``, as ``ScreenSpecification`` says   |
/// | `rtsp://…`    | ``NetworkSource``, see ``NetworkSpecification``       |
///
/// | sound       | what                                                                       |
/// |-------------|----------------------------------------------------------------------------|
/// | `auto`      | the file's or network source's own, a tone with a picture that is drawn, a microphone with a camera, none with others |
/// | `tone`      | ``ToneCapturer``                                                           |
/// | `silence`   | ``SilenceCapturer``                                                        |
/// | `file:PATH` | the sound of a ``FileSource``                                              |
/// | `rtsp://…`  | the sound of a ``NetworkSource``                                           |
/// | `mic:NAME`  | ``MicrophoneCapturer``, of a ``MicrophoneSpecification``                    |
/// | `none`      | no sound track                                                             |
public struct SourceSpecification: Hashable, Sendable {
  /// Where the picture comes from.
  public enum Video: Hashable, Sendable {
    /// Colours that flow.
    case plasma
    /// White noise.
    case noise
    /// Colour bars with the time of day.
    case bars
    /// The pictures of a file.
    case file(path: String)
    /// YUV4MPEG2 on standard input.
    case pipe
    /// A camera.
    case camera(CameraSpecification)
    /// A screen or window of X11.
    case screen(ScreenSpecification)
    /// A stream of the network.
    case network(NetworkSpecification)
  }

  /// Where the sound comes from.
  public enum Audio: Hashable, Sendable {
    /// What fits the picture.
    case auto
    /// A beep each second.
    case tone
    /// Silence.
    case silence
    /// The sound of a file.
    case file(path: String)
    /// The sound of a stream of the network.
    case network(NetworkSpecification)
    /// A microphone.
    case microphone(MicrophoneSpecification)
    /// No sound track.
    case none
  }

  /// Where the picture comes from.
  public var video: Video
  /// Where the sound comes from.
  public var audio: Audio

  /// A specification.
  public init(video: Video, audio: Audio = .auto) {
    self.video = video
    self.audio = audio
  }

  /// Reads what the user wrote.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names what there is.
  public init(video: String, audio: String = "auto") throws(VidiconError) {
    self.video = try Video(parsing: video)
    self.audio = try Audio(parsing: audio)
  }
}

extension SourceSpecification.Video {
  /// Reads `plasma`, `noise`, `bars`, `file:PATH`, `pipe:`, `v4l2:CAMERA`, `screen:…` or an address of the network.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names what there is.
  public init(parsing text: String) throws(VidiconError) {
    switch text {
    case "plasma": self = .plasma
    case "noise": self = .noise
    case "bars": self = .bars
    case "pipe:": self = .pipe
    case _ where NetworkSpecification.matches(text):
      self = .network(try NetworkSpecification(parsing: text))
    case _ where text.hasPrefix("screen:"): self = .screen(try ScreenSpecification(parsing: text))
    case let text where text.hasPrefix("v4l2:"):
      self = .camera(try CameraSpecification(parsing: String(text.dropFirst(5))))
    default:
      guard let path = SourceSpecification.path(text) else {
        throw SourceSpecification.unknown(
          text, "it is not a source of pictures",
          "use plasma, noise, bars, file:PATH, pipe:, v4l2:, v4l2:CAMERA, screen: or rtsp://…")
      }
      self = .file(path: path)
    }
  }
}

extension SourceSpecification.Audio {
  /// Reads `auto`, `tone`, `silence`, `file:PATH`, `mic:NAME`, `none` or an address of the network.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification``, which names what there is.
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
          text, "it is not a source of sound", "use auto, tone, silence, file:PATH, mic:, mic:NAME, none or rtsp://…")
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
      .invalidSpecification, subject: text.isEmpty ? "\"\"" : text,
      cause: text == "file:" ? "no path is given" : cause, nextStep: text == "file:" ? "write file:PATH" : nextStep)
  }
}
