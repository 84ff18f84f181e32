public import Capture
internal import CaptureDevices
public import Media
public import StreamControl
public import Streaming

extension SourceCatalog {
  /// Every source that a ``SourceSpecification`` can name, with the devices of this machine.
  public static let all = SourceCatalog(opening: SystemDevices())

  /// An empty catalog: sources cannot be switched by name.
  public static let none = Self.empty { SystemDevices().uniqueNames(of: $0) }

  /// Creates a catalog from its closures and its list of generators; cameras are those of this machine.
  public init(
    devices: @escaping @Sendable () -> [CaptureDevice], generators: [Generator],
    open: @escaping @Sendable (Request) throws(VidiconError) -> Opened
  ) {
    self.init(
      devices: devices, generators: generators, cameraNames: { SystemDevices().uniqueNames(of: $0) }, open: open)
  }
}

extension StreamSources {
  /// Creates the sources of a stream that can be switched to every source of the catalog `all`.
  ///
  /// - Parameters:
  ///   - stream: The stream whose sources are switched.
  ///   - video: Its video source; nil for the name that its capturer has, ``VideoCapturer/sourceName``.
  ///   - audio: Its audio source; nil where it has none.
  public convenience init(
    _ stream: LiveStream, video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil
  ) {
    self.init(stream, video: video, audio: audio, catalog: .all)
  }
}

extension Sources {
  /// Opens the sources, with the devices of this machine; the other parameters are those of the initializer with `devices`.
  ///
  /// - Throws: ``VidiconError`` when a file, pipe or address cannot be opened; `missingTrack` when it has no video or no
  ///   audio where that is requested.
  public init(
    _ specification: SourceSpecification,
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
      specification, devices: SystemDevices(), width: width, height: height, frameRate: frameRate,
      audioFormat: audioFormat, loop: loop, isConfined: isConfined, allowsLinkLocal: allowsLinkLocal,
      passesThroughWHIP: passesThroughWHIP)
  }

  /// Opens the sources of a stream that the program starts with.
  ///
  /// - Parameter connection: Time by which network sources and the writers of pipes must be there.
  package init(
    _ specification: SourceSpecification, width: Int, height: Int, frameRate: FrameRate, loop: Bool,
    passesThroughWHIP: Bool, connection: ConnectionNeed
  ) throws(VidiconError) {
    try self.init(
      specification, devices: SystemDevices(), width: width, height: height, frameRate: frameRate,
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), loop: loop, isConfined: false,
      allowsLinkLocal: true,
      passesThroughWHIP: passesThroughWHIP, connection: connection)
  }
}
