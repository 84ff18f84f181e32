public import Capture
internal import CaptureDevices
public import Media
internal import MediaInput

/// The capturers that a ``SourceSpecification`` asks for, opened and not started yet.
public struct Sources: Sendable {
  /// The pictures.
  public let video: any VideoCapturer
  /// The sound; nil when there is to be no sound track.
  public let audio: (any AudioCapturer)?

  /// Opens what is asked for. A file or address whose pictures and sound are both used is opened once.
  ///
  /// - Parameters:
  ///   - width: Pixels across of pictures that are drawn; cameras choose what is next to it, and those of files and pipes
  ///     have their own size.
  ///   - height: Pixels down of pictures that are drawn, as the width.
  ///   - frameRate: Pictures a second of those that are drawn, as the width.
  ///   - audioFormat: The format of sound that is made; that of files has its own.
  ///   - loop: Whether files go on at their start when they end.
  /// - Throws: ``VidiconError`` when a file, pipe or address cannot be opened, or holds no pictures or no sound where those are
  ///   asked for.
  public init(
    _ specification: SourceSpecification,
    width: Int = 1280,
    height: Int = 720,
    frameRate: FrameRate = FrameRate(30),
    audioFormat: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2),
    loop: Bool = true
  ) throws(VidiconError) {
    var file: FileSource?
    var network: NetworkSource?
    var automatic: (any AudioCapturer)?
    switch specification.video {
    case .plasma:
      self.video = PlasmaCapturer(width: width, height: height, frameRate: frameRate)
      automatic = ToneCapturer(format: audioFormat)
    case .noise:
      self.video = NoiseCapturer(width: width, height: height, frameRate: frameRate)
      automatic = ToneCapturer(format: audioFormat)
    case .bars:
      self.video = BarsCapturer(width: width, height: height, frameRate: frameRate)
      automatic = ToneCapturer(format: audioFormat)
    case .pipe:
      self.video = try PipeCapturer()
    case .camera(let camera):
      self.video = CameraCapturer(camera, width: width, height: height, frameRate: frameRate)
      if specification.audio == .auto, MicrophoneDevices.devices().contains(where: { $0.problem == nil }) {
        automatic = MicrophoneCapturer(MicrophoneSpecification())
      }
    case .screen(let screen):
      self.video = ScreenCapturer(screen, frameRate: frameRate)
    case .file(let path):
      let source = try FileSource(path: path, loop: loop)
      guard let video = source.video else {
        throw VidiconError(
          .missingTrack, subject: path, cause: "it holds no moving pictures",
          nextStep: "use it for sound only, with pictures from another source")
      }
      file = source
      self.video = video
      automatic = source.audio
    case .network(let address):
      let source = try NetworkSource(address)
      guard let video = source.video else {
        throw VidiconError(
          .missingTrack, subject: address.description, cause: "it sends no pictures",
          nextStep: "use it for sound only, with pictures from another source")
      }
      network = source
      self.video = video
      automatic = source.audio
    }

    switch specification.audio {
    case .auto: self.audio = automatic
    case .tone: self.audio = ToneCapturer(format: audioFormat)
    case .silence: self.audio = SilenceCapturer(format: audioFormat)
    case .microphone(let microphone): self.audio = MicrophoneCapturer(microphone)
    case .none: self.audio = nil
    case .file(let path):
      let isSame = specification.video == .file(path: path)
      let source = if isSame, let file { file } else { try FileSource(path: path, loop: loop) }
      guard let audio = source.audio else {
        throw VidiconError(
          .missingTrack, subject: path, cause: "it holds no sound",
          nextStep: "choose another file, or one of auto, tone, silence and none")
      }
      self.audio = audio
    case .network(let address):
      let isSame = specification.video == .network(address)
      let source = if isSame, let network { network } else { try NetworkSource(address) }
      guard let audio = source.audio else {
        throw VidiconError(
          .missingTrack, subject: address.description, cause: "it sends no sound",
          nextStep: "choose another source, or one of auto, tone, silence and none")
      }
      self.audio = audio
    }
  }
}
