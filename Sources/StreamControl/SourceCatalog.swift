public import Capture
public import Media
internal import Streaming
internal import Threading

/// The sources that streams can be switched to while they run: over HTTP, on the web page, with the program's keys and in code.
///
/// `all` holds every source that the program knows. A program of its own can narrow it, or replace it:
///
/// ```swift
/// let generated = SourceCatalog.all.limited(to: { !$0.contains(":") })  // no devices, files and addresses
/// var own = SourceCatalog.none
/// own.generators = [.init(.video, "sweep", name: "Sweep"), .init(.video, "clock", name: "Clock")]
/// own.open = { request in .init(video: request.video.map { $0 == "sweep" ? sweep : clock }) }
/// let server = CameraServer(settings: CameraServerSettings(), catalog: own)
/// ```
///
/// Names of its own sources begin with none of the schemes that ``SourceSpecification`` knows, such as `screen:`.
public struct SourceCatalog: Sendable {
  /// A source that is generated rather than captured.
  public struct Generator: Hashable, Sendable {
    /// Whether it produces video or audio.
    public var kind: MediaKind
    /// The text that names it, such as `plasma`.
    public var specification: String
    /// The name to show to users.
    public var name: String

    /// Creates an entry of the list of generators, with a name for users.
    public init(_ kind: MediaKind, _ specification: String, name: String) {
      self.kind = kind
      self.specification = specification
      self.name = name
    }
  }

  /// The sources to open, and the format of generated frames.
  public struct Request: Hashable, Sendable {
    /// The video source; nil keeps the current one.
    public var video: SourceSpecification.Video?
    /// The audio source; nil keeps the current one.
    public var audio: SourceSpecification.Audio?
    /// The current video source, which `auto` audio depends on; nil where it has no name.
    public var currentVideo: SourceSpecification.Video?
    /// Width of generated frames, in pixels.
    public var width: Int
    /// Height of generated frames, in pixels.
    public var height: Int
    /// Frame rate of generated video, in frames per second.
    public var frameRate: FrameRate
    /// Whether files must be media containers on the disk, no URLs and playlists: a client chose them.
    public var isConfined: Bool
    /// Whether network sources may connect to link-local and cloud metadata addresses.
    public var allowsLinkLocal: Bool

    /// Creates a request; by default for no source, of 1280 × 720 pixels at 30 frames per second.
    public init(
      video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil,
      currentVideo: SourceSpecification.Video? = nil, width: Int = 1280, height: Int = 720, frameRate: FrameRate = 30,
      isConfined: Bool = false, allowsLinkLocal: Bool = true
    ) {
      self.isConfined = isConfined
      self.allowsLinkLocal = allowsLinkLocal
      self.video = video
      self.audio = audio
      self.currentVideo = currentVideo
      self.width = width
      self.height = height
      self.frameRate = frameRate
    }
  }

  /// Capturers that are open but not started.
  public struct Opened: Sendable {
    /// The video capturer; nil keeps the current one.
    public var video: (any VideoCapturer)?
    /// The audio capturer; nil keeps the current one, or stands for a source without audio.
    public var audio: (any AudioCapturer)?

    /// Combines the opened capturers; nil for a kind that the source lacks or that was not requested.
    public init(video: (any VideoCapturer)? = nil, audio: (any AudioCapturer)? = nil) {
      self.video = video
      self.audio = audio
    }
  }

  /// Lists the devices that can be chosen. May block for seconds; called on its own thread, once for concurrent callers.
  public var devices: @Sendable () -> [CaptureDevice] {
    didSet { self.deviceFlight = Self.newDeviceFlight() }
  }
  /// The generated sources that can be chosen.
  public var generators: [Generator]
  /// Folders whose files clients with the operator role may choose.
  public var fileFolders: [String] = []
  /// Whether clients with the operator role may choose network sources at link-local and cloud metadata addresses.
  public var allowsLinkLocal = false
  /// Opens capturers without starting them. May block for seconds; called on its own thread.
  ///
  /// - Throws: ``VidiconError``; ``init(opening:)`` throws ``VidiconError/Code/invalidSpecification`` for an invalid text,
  ///   and the codes of files and network sources, such as ``VidiconError/Code/notFound`` and
  ///   ``VidiconError/Code/missingTrack``.
  public var open: @Sendable (Request) throws(VidiconError) -> Opened
  /// The names of the cameras that a specification may select, by which privacy recognizes a camera.
  let cameraNames: @Sendable (CameraSpecification) -> Set<String>
  /// Coalesces the device queries of all streams and clients.
  private var deviceFlight = Self.newDeviceFlight()

  /// Creates a catalog from its closures and its list of generators.
  ///
  /// - Parameter cameraNames: Returns the names of the cameras that a specification may select, as
  ///   ``CaptureDeviceProvider/uniqueNames(of:)``; a source that a stream shows with privacy is recognized by them. May block.
  public init(
    devices: @escaping @Sendable () -> [CaptureDevice], generators: [Generator],
    cameraNames: @escaping @Sendable (CameraSpecification) -> Set<String>,
    open: @escaping @Sendable (Request) throws(VidiconError) -> Opened
  ) {
    self.devices = devices
    self.generators = generators
    self.cameraNames = cameraNames
    self.open = open
  }

  /// An empty catalog: sources cannot be switched by name.
  ///
  /// - Parameter cameraNames: Returns the names of the cameras that a specification may select, as in
  ///   ``init(devices:generators:cameraNames:open:)``.
  public static func empty(cameraNames: @escaping @Sendable (CameraSpecification) -> Set<String>) -> SourceCatalog {
    SourceCatalog(devices: { [] }, generators: [], cameraNames: cameraNames) { request throws(VidiconError) in
      throw VidiconError(
        .invalidSpecification, subject: request.video?.name ?? request.audio?.name ?? "source",
        cause: "sources cannot be chosen here",
        nextStep: "start the server with that source")
    }
  }

  /// The part of this catalog whose names pass a test.
  ///
  /// - Parameter isOffered: Receives the name of a source, such as `v4l2:/dev/video0`: of a device as it is listed, of a requested source
  ///   in the form of ``SourceSpecification/Video/name``.
  public func limited(to isOffered: @escaping @Sendable (String) -> Bool) -> SourceCatalog {
    var catalog = SourceCatalog(
      devices: { [devices] in devices().filter { isOffered($0.specification) } },
      generators: self.generators.filter { isOffered($0.specification) }, cameraNames: self.cameraNames
    ) { [open] request throws(VidiconError) in
      for text in [request.video?.name, request.audio?.name] {
        guard let text, !isOffered(text) else { continue }
        throw VidiconError(
          .invalidSpecification, subject: text, cause: "this source is not offered here", nextStep: "choose another one"
        )
      }
      return try open(request)
    }
    catalog.fileFolders = self.fileFolders
    catalog.allowsLinkLocal = self.allowsLinkLocal
    return catalog
  }
}

extension SourceCatalog {
  /// Lists the devices on another thread, shared by concurrent callers; nil after 15 s without a result.
  package func listDevices() async -> [CaptureDevice]? {
    await self.deviceFlight.run(self.devices)
  }

  private static func newDeviceFlight() -> SingleFlight<[CaptureDevice]> {
    SingleFlight(threadName: "devices", timeout: .seconds(15))
  }

  /// Creates a catalog of every source that a ``SourceSpecification`` can name, with the devices of a provider.
  public init(opening devices: any CaptureDeviceProvider) {
    self.init(
      devices: { devices.devices() },
      generators: [
        .init(.video, "plasma", name: "Plasma"), .init(.video, "bars", name: "Color bars"),
        .init(.video, "noise", name: "Noise"), .init(.audio, "tone", name: "Beeps"),
        .init(.audio, "silence", name: "Silence"),
      ],
      cameraNames: { devices.uniqueNames(of: $0) }
    ) { request throws(VidiconError) in
      let video = request.video
      var audio = request.audio
      if audio == .auto, video == nil { audio = try Self.audio(matching: request.currentVideo) }
      // A plasma that is not started costs nothing.
      let sources = try Sources(
        SourceSpecification(video: video ?? .plasma, audio: audio ?? .none), devices: devices, width: request.width,
        height: request.height, frameRate: request.frameRate, isConfined: request.isConfined,
        allowsLinkLocal: request.allowsLinkLocal)
      return Opened(video: video == nil ? nil : sources.video, audio: sources.audio)
    }
  }

  /// The meaning of `auto` beside a video source that stays open, and cannot be opened a second time.
  private static func audio(
    matching currentVideo: SourceSpecification.Video?
  ) throws(VidiconError) -> SourceSpecification.Audio {
    switch currentVideo {
    case .plasma, .noise, .bars, nil: return .tone
    case .file(let path): return .file(path: path)
    case .camera: return .microphone(MicrophoneSpecification())
    case .other(let name) where !name.contains(":"): return .tone
    case .pipe, .screen, .network, .published, .other:
      throw VidiconError(
        .invalidSpecification, subject: "auto", cause: "it is the audio of a video source that is chosen with it",
        nextStep: "name the audio source, such as mic:, tone or silence, or choose the video source too")
    }
  }
}
