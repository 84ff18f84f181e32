public import Capture
public import Media
internal import MediaInput

/// The capturers of a ``SourceSpecification``, open but not started.
public struct Sources: Sendable {
  /// Time by which network sources and the writers of pipes must be there. Sources that need not be are tried in the background,
  /// with the format of generated media until then.
  package enum ConnectionNeed: Hashable, Sendable {
    /// Network sources at once, writers later.
    case needed
    /// Network sources at once, and writers are waited for, without end.
    case awaited
    /// Both later.
    case later
  }

  /// The video capturer, open but not started.
  public let video: any VideoCapturer
  /// The audio capturer; nil for no audio track.
  public let audio: (any AudioCapturer)?
  /// Reason why the video source is not there yet, and is tried in the background; nil where it is.
  package private(set) var pendingFailure: VidiconError?
  /// Likewise of an audio source of its own; nil where that is the video source.
  package private(set) var pendingAudioFailure: VidiconError?

  /// Time in which a program that writes to standard input has begun: its size is that of the stream then.
  private static let pipeTimeout = MediaDuration.seconds(10)

  /// Opens the sources. A file or address that provides both video and audio is opened once.
  ///
  /// - Parameters:
  ///   - devices: Opens cameras, screens and microphones.
  ///   - width: Width of generated video, in pixels; cameras choose the nearest, files and pipes have their own.
  ///   - height: Height of generated video, in pixels; likewise.
  ///   - frameRate: Frame rate of generated video; likewise.
  ///   - audioFormat: Format of generated audio; files have their own.
  ///   - loop: Whether files are looped.
  ///   - isConfined: Whether files must be media containers on the disk, no URLs and playlists.
  ///   - allowsLinkLocal: Whether network sources may connect to link-local and cloud metadata addresses.
  ///   - passesThroughWHIP: Whether H.264 of `whip:` is passed through where every output supports it; otherwise it is decoded, since
  ///     browsers change its size within a session.
  /// - Throws: ``VidiconError`` when a file, pipe or address cannot be opened; `missingTrack` when it has no video or no
  ///   audio where that is requested.
  public init(
    _ specification: SourceSpecification,
    devices: any CaptureDeviceProvider,
    width: Int = 1280,
    height: Int = 720,
    frameRate: FrameRate = FrameRate(30),
    audioFormat: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2),
    loop: Bool = true,
    isConfined: Bool = false,
    allowsLinkLocal: Bool = true,
    passesThroughWHIP: Bool = false
  ) throws(VidiconError) {
    try self.init(
      specification, devices: devices, width: width, height: height, frameRate: frameRate, audioFormat: audioFormat,
      loop: loop, isConfined: isConfined, allowsLinkLocal: allowsLinkLocal, passesThroughWHIP: passesThroughWHIP,
      connection: .needed)
  }

  /// Opens sources like the other initializer.
  ///
  /// - Parameter connection: Time by which network sources and the writers of pipes must be there.
  package init(
    _ specification: SourceSpecification, devices: any CaptureDeviceProvider, width: Int, height: Int,
    frameRate: FrameRate,
    audioFormat: AudioFormat, loop: Bool, isConfined: Bool, allowsLinkLocal: Bool, passesThroughWHIP: Bool,
    connection: ConnectionNeed
  ) throws(VidiconError) {
    let formats = NetworkSource.AssumedFormats(
      video: VideoFormat(width: width, height: height, pixelFormat: .i420, frameRate: frameRate), audio: audioFormat)
    var file: FileSource?
    var network: NetworkSource?
    var automatic: (any AudioCapturer)?
    func isFIFO(_ path: String) -> Bool { !isConfined && FileSource.isFIFO(path) }
    func open(_ address: NetworkSpecification, for kind: MediaKind) throws(VidiconError) -> NetworkSource {
      var (address, formats) = (address, formats)
      formats.needed = kind
      address.allowsLinkLocal = allowsLinkLocal
      address.allowsSessionDescriptions = !isConfined
      let isNeeded = address.isFIFO ? connection == .awaited : connection != .later
      return if isNeeded { try NetworkSource(address) } else { try NetworkSource(address, until: formats) }
    }
    var requested = specification.video
    if case .file(let path) = requested, isFIFO(path) { requested = .network(NetworkSpecification(fifo: path)) }
    var requestedAudio = specification.audio
    if case .file(let path) = requestedAudio, isFIFO(path) {
      requestedAudio = .network(NetworkSpecification(fifo: path))
    }
    switch requested {
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
      let timeout = connection == .awaited ? nil : Self.pipeTimeout
      let pipe = try PipeCapturer(
        until: VideoFormat(width: width, height: height, pixelFormat: .i420, frameRate: frameRate), within: timeout)
      self.pendingFailure = pipe.pendingFailure
      self.video = pipe
    case .camera(let camera):
      self.video = devices.capturer(of: camera, width: width, height: height, frameRate: frameRate)
      if specification.audio == .auto, devices.hasMicrophone() {
        automatic = devices.capturer(of: MicrophoneSpecification())
      }
    case .screen(let screen):
      self.video = devices.capturer(of: screen, frameRate: frameRate)
    case .file(let path):
      let source = try FileSource(path: path, loop: loop, isConfined: isConfined)
      guard let video = source.video else {
        throw source.failure(of: .video)
          ?? VidiconError(
            .missingTrack, subject: NetworkSpecification.masked(path), cause: "it has no video",
            nextStep: "use it as audio source, with another video source")
      }
      file = source
      self.video = video
      automatic = source.audio
    case .published(let scheme):
      let source = PublishedSource(
        format: VideoFormat(width: width, height: height, pixelFormat: .i420, frameRate: frameRate),
        audioFormat: audioFormat, scheme: scheme, passesThrough: scheme != .whip || passesThroughWHIP)
      self.video = source.video
      automatic = source.audio
    case .other(let name): throw SourceSpecification.unknownVideo(name)
    case .network(let address):
      let source = try open(address, for: .video)
      self.pendingFailure = source.pendingFailure
      guard let video = source.video else {
        throw VidiconError(
          .missingTrack, subject: address.description, cause: "it sends no video",
          nextStep: "use it as audio source, with another video source")
      }
      network = source
      self.video = video
      automatic = source.audio
    }

    switch requestedAudio {
    case .auto: self.audio = automatic
    case .tone: self.audio = ToneCapturer(format: audioFormat)
    case .silence: self.audio = SilenceCapturer(format: audioFormat)
    case .microphone(let microphone): self.audio = devices.capturer(of: microphone)
    case .none: self.audio = nil
    case .other(let name): throw SourceSpecification.unknownAudio(name)
    case .file(let path):
      let isSame = specification.video == .file(path: path)
      let source = if isSame, let file { file } else { try FileSource(path: path, loop: loop, isConfined: isConfined) }
      guard let audio = source.audio else {
        throw source.failure(of: .audio)
          ?? VidiconError(
            .missingTrack, subject: NetworkSpecification.masked(path), cause: "it has no audio",
            nextStep: "choose another file, or one of auto, tone, silence and none")
      }
      self.audio = audio
    case .network(let address):
      let isSame = requested == .network(address)
      let source = if isSame, let network { network } else { try open(address, for: .audio) }
      if !isSame { self.pendingAudioFailure = source.pendingFailure }
      guard let audio = source.audio else {
        throw VidiconError(
          .missingTrack, subject: address.description, cause: "it sends no audio",
          nextStep: "choose another source, or one of auto, tone, silence and none")
      }
      self.audio = audio
    }
  }
}
