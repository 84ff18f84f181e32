public import Capture
internal import CaptureDevices
public import HTTPServer
public import Media
internal import StreamControl
internal import Streaming
internal import Threading

/// Which sources streams can be switched to while they run, over HTTP, on the page and by keys of the program.
///
/// ``all`` is what the program offers. A program of its own offers others, or fewer:
///
/// ```swift
/// let drawn = SourceCatalog.all.limited(to: { !$0.contains(":") })  // no devices, files and addresses
/// var own = SourceCatalog.none
/// own.generators = [.init(.video, "sweep", name: "Sweep"), .init(.video, "clock", name: "Clock")]
/// own.open = { request in .init(video: request.video.map { $0 == "sweep" ? sweep : clock }) }
/// let server = CameraServer(settings: CameraServerSettings(), offer: own)
/// ```
public struct SourceCatalog: Sendable {
  /// Sources that are asked for.
  public struct Request: Hashable, Sendable {
    /// Of the picture; nil where it is to stay.
    public var video: String?
    /// Of the sound; nil where it is to stay.
    public var audio: String?
    /// The source of the picture now, which sound may have to fit; nil where it has no name.
    public var presentVideo: String?
    /// Pixels across of pictures that are drawn.
    public var width: Int
    /// Pixels down of pictures that are drawn.
    public var height: Int
    /// Pictures a second of those that are drawn.
    public var frameRate: FrameRate

    /// A request.
    public init(
      video: String? = nil, audio: String? = nil, presentVideo: String? = nil, width: Int = 1280, height: Int = 720,
      frameRate: FrameRate = 30
    ) {
      self.video = video
      self.audio = audio
      self.presentVideo = presentVideo
      self.width = width
      self.height = height
      self.frameRate = frameRate
    }
  }

  /// Sources that have been opened, and not started yet.
  public struct Opened: Sendable {
    /// Of the picture; nil where it is to stay.
    public var video: (any VideoCapturer)?
    /// Of the sound; nil where it is to stay, or where what was asked for is no sound.
    public var audio: (any AudioCapturer)?

    /// Sources.
    public init(video: (any VideoCapturer)? = nil, audio: (any AudioCapturer)? = nil) {
      self.video = video
      self.audio = audio
    }
  }

  /// Lists the devices that can be chosen; may take its time.
  public var devices: @Sendable () -> [CaptureDevice] {
    didSet { self.deviceFlight = Self.newDeviceFlight() }
  }
  /// What can be chosen besides.
  public var generators: [HTTPServerDevices.Generator]
  /// Opens sources; may take its time, on a thread of its own.
  public var open: @Sendable (Request) throws(VidiconError) -> Opened
  /// Asks for the devices once for all streams and all who change them.
  private var deviceFlight = Self.newDeviceFlight()

  /// An offer.
  public init(
    devices: @escaping @Sendable () -> [CaptureDevice], generators: [HTTPServerDevices.Generator],
    open: @escaping @Sendable (Request) throws(VidiconError) -> Opened
  ) {
    self.devices = devices
    self.generators = generators
    self.open = open
  }

  /// Nothing can be chosen.
  public static let none = SourceCatalog(devices: { [] }, generators: []) { request throws(VidiconError) in
    throw VidiconError(
      .invalidSpecification, subject: request.video ?? request.audio ?? "", cause: "sources cannot be chosen here",
      nextStep: "start the server with the source that is wanted")
  }

  /// The part of this offer that passes a test.
  ///
  /// - Parameter isOffered: Told the text that names a source, such as `v4l2:/dev/video0`.
  public func limited(to isOffered: @escaping @Sendable (String) -> Bool) -> SourceCatalog {
    SourceCatalog(
      devices: { [devices] in devices().filter { isOffered($0.specification) } },
      generators: self.generators.filter { isOffered($0.specification) }
    ) { [open] request throws(VidiconError) in
      for text in [request.video, request.audio] {
        guard let text, !isOffered(text) else { continue }
        throw VidiconError(
          .invalidSpecification, subject: text, cause: "this source is not offered here", nextStep: "choose another one"
        )
      }
      return try open(request)
    }
  }
}

extension SourceCatalog {
  /// Lists the devices on a thread of its own, once for all who ask meanwhile; nil when that takes too long.
  package func listDevices() async -> [CaptureDevice]? {
    await self.deviceFlight.run(self.devices)
  }

  private static func newDeviceFlight() -> SingleFlight<[CaptureDevice]> {
    SingleFlight(threadName: "devices", timeout: .seconds(15))
  }

  /// Everything that a ``SourceSpecification`` can name.
  public static let all = SourceCatalog(
    devices: { CaptureDevices.list() },
    generators: [
      .init(.video, "plasma", name: "Plasma"), .init(.video, "bars", name: "Colour bars"),
      .init(.video, "noise", name: "Noise"), .init(.audio, "tone", name: "Beeps"),
      .init(.audio, "silence", name: "Silence"),
    ]
  ) { request throws(VidiconError) in
    let video = try request.video.map { text throws(VidiconError) in try SourceSpecification.Video(parsing: text) }
    var audio = try request.audio.map { text throws(VidiconError) in try SourceSpecification.Audio(parsing: text) }
    if audio == .auto, video == nil { audio = try Self.soundThatFits(request.presentVideo) }
    // What is drawn costs nothing while it is not started.
    let sources = try Sources(
      SourceSpecification(video: video ?? .plasma, audio: audio ?? .none), width: request.width,
      height: request.height, frameRate: request.frameRate)
    return Opened(video: video == nil ? nil : sources.video, audio: sources.audio)
  }

  /// What `auto` is beside pictures that stay: these are not opened a second time.
  private static func soundThatFits(_ presentVideo: String?) throws(VidiconError) -> SourceSpecification.Audio {
    guard let video = presentVideo.map(SourceText.init), let scheme = video.scheme else { return .tone }
    switch scheme {
    case "file": return try SourceSpecification.Audio(parsing: video.text)
    case "v4l2": return try SourceSpecification.Audio(parsing: "mic:")
    default:
      throw VidiconError(
        .invalidSpecification, subject: "auto", cause: "it is the sound of pictures that are chosen with it",
        nextStep: "name the sound, such as mic:, tone or silence, or the picture too")
    }
  }
}
