public import Capture
public import Media
internal import MediaInput
public import Streaming
internal import Synchronization
internal import Threading

/// The sources of a running stream by name, and every setting that can change while it runs.
///
/// The web page, the HTTP API, the program's keys and Swift callers all change a stream through this type. Changes of
/// sources run one at a time, in the order of their requests.
///
/// ```swift
/// try await server.sources(of: stream)?.replace(video: "v4l2:/dev/video1", audio: "mic:")
/// ```
public final class StreamSources: Sendable {
  /// The stream whose sources are switched.
  public let stream: LiveStream
  let catalog: SourceCatalog
  /// The sources that the stream started with, or that its owner's configuration has given it since.
  let configured: Mutex<SourceSelection>
  private let current: Mutex<SourceSelection>
  let privacy: SourcePrivacy
  /// The video source by the name that the stream's capturer has, where its owner gave none.
  private let capturerVideo = Mutex<SourceSpecification.Video?>(nil)
  /// The current video source, and during a switch the next one, and the one that comes back when that fails.
  private let videos: Mutex<(current: IdentifiedSource, next: IdentifiedSource?, previous: IdentifiedSource?)>
  /// Source to which a Swift caller switches video by ``LiveStream/switchVideo(to:)``; nil without such a change.
  private let directVideo = Mutex<IdentifiedSource?>(nil)
  /// Whether a client chose the current video source: what is opened because of its name is as limited as it is.
  let isVideoConfined = Mutex(false)
  /// The sources of publishers that the stream has had.
  let published = Mutex(PublishedSources())
  private let mutex = AsyncMutex(maximumWaiters: 16)
  private let identification: SingleFlight<IdentifiedSource>
  private let nextIdentification: SingleFlight<IdentifiedSource>
  /// Calls of devices and files, which may hang.
  let calls = BlockingCalls()

  /// Maximum time to open a source, 15 s unless a test needs another one; its start has a limit of its own.
  let openingTimeout: Duration
  /// Maximum time for a device to report or change its controls.
  private static let controlTimeout = Duration.seconds(5)

  /// The sources of a stream.
  ///
  /// - Parameters:
  ///   - video: Its video source; nil for the name that its capturer has, ``VideoCapturer/sourceName``.
  ///   - audio: Its audio source; nil where it has none.
  ///   - catalog: The sources that it can be switched to.
  public convenience init(
    _ stream: LiveStream, video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil,
    catalog: SourceCatalog
  ) {
    self.init(stream, video: video, audio: audio, catalog: catalog, privacy: .shared)
  }

  /// The sources of a stream, as the other initializer.
  ///
  /// - Parameters:
  ///   - privacy: The streams that may show the same sources.
  ///   - openingTimeout: Maximum time to open a source.
  package init(
    _ stream: LiveStream, video: SourceSpecification.Video?, audio: SourceSpecification.Audio? = nil,
    catalog: SourceCatalog, privacy: SourcePrivacy, openingTimeout: Duration = .seconds(15)
  ) {
    self.stream = stream
    self.privacy = privacy
    self.catalog = catalog
    self.openingTimeout = openingTimeout
    self.identification = SingleFlight(threadName: "identify", timeout: openingTimeout)
    self.nextIdentification = SingleFlight(threadName: "identify", timeout: openingTimeout)
    let start = SourceSelection(video: video, audio: audio)
    self.configured = Mutex(start)
    self.current = Mutex(start)
    self.videos = Mutex((IdentifiedSource(unresolved: video), nil, nil))
    privacy.add(self)
    stream.videoSwitchObserver.withLock { observer in
      observer = LiveStream.VideoSwitchObserver(
        begin: { [weak self] in self?.beginDirectSwitch(to: $0) },
        end: { [weak self] in self?.endDirectSwitch(to: $0, succeeded: $1) })
    }
  }

  /// The current video source; nil where it has no name.
  public var video: SourceSpecification.Video? { self.selection.video }

  /// The current audio source; nil where it has no name.
  public var audio: SourceSpecification.Audio? { self.selection.audio }

  /// The sources of the stream's owner, which clients may choose: those that it started with, or that a configuration has given it since.
  package var start: SourceSelection { self.configured.withLock { $0 } }

  /// The current sources.
  var selection: SourceSelection { self.current.withLock { $0 } }

  /// The current video source, as far as it is known without waiting.
  var shownVideo: IdentifiedSource { self.videos.withLock { $0.current } }

  /// Source to which video is being switched, as far as it is known without waiting; nil without a change of video.
  var nextVideo: IdentifiedSource? { self.videos.withLock { $0.next } }

  /// Sources to which video is being switched, by name or by a Swift caller.
  var nextVideos: [IdentifiedSource] { [self.nextVideo, self.directVideo.withLock { $0 }].compactMap { $0 } }

  /// The current video source, those to which it is being switched, and the one that comes back when that fails.
  var shownVideos: [IdentifiedSource] {
    self.videos.withLock { [$0.current, $0.previous].compactMap { $0 } } + self.nextVideos
  }

  /// Covers what a Swift caller switches to, before its first frame.
  private func beginDirectSwitch(to name: String?) {
    guard let name else { return }
    self.directVideo.withLock { $0 = IdentifiedSource(unresolved: .init(stringLiteral: name)) }
    self.privacy.cover()
  }

  private func endDirectSwitch(to name: String?, succeeded: Bool) {
    if succeeded {
      let video = name.map { SourceSpecification.Video(stringLiteral: $0) }
      self.capturerVideo.withLock { $0 = video }
      self.setVideo(video)
    }
    self.directVideo.withLock { $0 = nil }
    Task { [privacy] in await privacy.update() }
  }

  /// Adopts the name that the stream's capturer has, for a Swift caller who attaches capturers and no names.
  func followCapturer() {
    let video = self.stream.videoSource?.sourceName.map { SourceSpecification.Video(stringLiteral: $0) }
    let isNew = self.capturerVideo.withLock { known in
      guard video != known, self.video == known else { return false }
      known = video
      return true
    }
    if isNew { self.setVideo(video) }
  }

  /// Records that video is being switched to a source.
  func beginVideoSwitch(to video: SourceSpecification.Video) {
    let next = IdentifiedSource(unresolved: video)
    self.videos.withLock { ($0.next, $0.previous) = (next, $0.current) }
  }

  /// Records that the current video source stays, whichever it is.
  func endVideoSwitch() { self.videos.withLock { ($0.next, $0.previous) = (nil, nil) } }

  /// Records that video has been switched to a source; nil for one without a name.
  func setVideo(_ video: SourceSpecification.Video?) {
    // Names that are not known yet are found out when another stream hides something.
    let unresolved = IdentifiedSource(unresolved: video)
    self.videos.withLock { videos in
      videos.current = [videos.next, videos.previous].compactMap { $0 }.first { $0.video == video } ?? unresolved
    }
    self.setSelection { $0.video = video }
  }

  /// Finds out what the names of the current video source and of the next one refer to, each in ``openingTimeout`` or not at all.
  ///
  /// - Parameter again: Whether addresses that could not be looked up are looked up again.
  func identifyVideo(again: Bool) async {
    func isToBeIdentified(_ source: IdentifiedSource?) -> Bool {
      source.map { again ? !$0.isFinal : !$0.isComplete } ?? false
    }
    let (shown, next) = self.videos.withLock { ($0.current, $0.next) }
    async let foundShown =
      isToBeIdentified(shown) ? self.identify(with: self.identification) { $0.video } : nil
    let foundNext =
      isToBeIdentified(next) ? await self.identify(with: self.nextIdentification) { $0.nextVideo?.video } : nil
    let found = (shown: await foundShown, next: foundNext)
    self.videos.withLock { videos in
      if let source = found.shown, source.video == videos.current.video { videos.current = source }
      if let source = found.next, source.video == videos.next?.video { videos.next = source }
    }
  }

  private func identify(
    with flight: SingleFlight<IdentifiedSource>,
    _ video: @escaping @Sendable (StreamSources) -> SourceSpecification.Video?
  ) async -> IdentifiedSource? {
    await flight.run { IdentifiedSource(video(self), cameraNames: self.catalog.cameraNames) }
  }

  /// Whether a current source accepts any TLS certificate (`?insecure=1`), so that its media may be another's.
  public var acceptsAnyCertificate: Bool {
    let current = self.selection
    return current.video?.acceptsAnyCertificate == true || current.audio?.acceptsAnyCertificate == true
  }

  /// Names of the current sources without passwords; without folders and paths for clients that are not operators.
  package func shown(isOperator: Bool) -> SourceNames { self.selection.shown(isOperator: isOperator) }

  /// Names of the current sources without passwords, as far as an audience sees them.
  package func shown(to audience: SourceAudience) -> SourceNames { self.selection.shown(to: audience) }

  /// Names of the current sources without passwords, once no change is in progress.
  package var shownAfterChange: SourceNames {
    get async {
      if await self.mutex.lock() { self.mutex.unlock() }
      return self.shown(isOperator: true)
    }
  }

  /// Replaces the video source, the audio source, or both; returns when the new sources have taken over.
  ///
  /// - Parameters:
  ///   - video: The new source; nil keeps the current one.
  ///   - audio: The new source; nil keeps the current one.
  /// - Throws: ``VidiconError``; the earlier sources stay. `invalidSpecification` for a source that the catalog does not
  ///   have, `notPermitted` for one that another stream shows with privacy, `wrongState` when the stream has no such
  ///   track or has ended, `busy` while 16 other changes wait. When both were requested and the audio fails, the earlier
  ///   video source is opened again; the error says if that failed.
  public func replace(
    video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil
  ) async throws(VidiconError) {
    try await self.exclusively { () throws(VidiconError) in
      try await self.exchange(SourceSelection(video: video, audio: audio))
    }
  }

  /// The controls of the current video source; empty where it has none. May block for seconds while the device answers.
  public var controls: [DeviceControl] {
    (self.stream.videoSource as? any ControllableCapturer)?.controls ?? []
  }

  /// Whether the current video source is of a kind that has controls.
  package var hasControls: Bool { self.stream.videoSource is any ControllableCapturer }

  /// Changes controls of the current video source: all or none.
  ///
  /// - Parameter values: Values by control name; nil selects the default.
  /// - Throws: ``VidiconError``; the controls keep their values. `invalidSpecification` for an unknown control or a value
  ///   out of range, `wrongState` when the source has no controls.
  public func setControls(_ values: [String: Int?]) async throws(VidiconError) {
    try await self.exclusively { () throws(VidiconError) in try await self.set(values, resettingOthers: false) }
  }

  /// Changes settings: all or none. Only controls wait for other changes and for the device.
  ///
  /// - Throws: ``VidiconError``, as ``setControls(_:)``.
  public func change(_ change: StreamChange) async throws(VidiconError) {
    if !change.controls.isEmpty || change.resetsControls {
      try await self.exclusively { () throws(VidiconError) in
        try await self.set(change.controls, resettingOthers: change.resetsControls)
      }
    }
    if let bitrate = change.bitrate { self.stream.videoBitrate = bitrate }
    if let isMirrored = change.isMirrored { self.stream.isMirrored = isMirrored }
    if let rotation = change.rotation { self.stream.rotation = rotation }
    if let isMuted = change.isMuted { self.stream.isMuted = isMuted }
    if let isPaused = change.isPaused { self.stream.isEncodingPaused = isPaused }
  }

  private func set(_ values: [String: Int?], resettingOthers: Bool) async throws(VidiconError) {
    guard let source = self.stream.videoSource as? any ControllableCapturer else {
      if values.isEmpty { return }
      throw VidiconError(
        .wrongState, subject: values.keys.sorted().joined(separator: ", "),
        cause: "the video source has no controls", nextStep: "choose a camera")
    }
    let result = await self.calls.run("controls", named: "controls", timeout: Self.controlTimeout) {
      ControlChange.perform(values, resettingOthers: resettingOthers, on: source)
    }
    switch result {
    case .success: return
    case .failure(let error): throw error.asSourceFailure
    case nil:
      throw VidiconError(
        .timedOut, subject: "controls", cause: "the camera does not respond", nextStep: "plug it in again")
    }
  }

  /// Sets sources that have taken over.
  func setSelection(_ body: (inout SourceSelection) -> Void) {
    self.current.withLock { body(&$0) }
  }

  /// Runs a change after the changes before it.
  func exclusively(_ body: () async throws(VidiconError) -> Void) async throws(VidiconError) {
    guard await self.mutex.lock() else {
      throw VidiconError(
        .busy, subject: self.stream.name, cause: "16 changes of this stream wait already",
        nextStep: "try again in some seconds")
    }
    defer { self.mutex.unlock() }
    try await body()
  }
}

extension SourceSelection {
  /// The names without passwords; without folders and paths for clients that are not operators.
  package func shown(isOperator: Bool) -> SourceNames {
    func shown(_ name: String?) -> String? { name.map { SourceText($0).shown(isOperator: isOperator) } }
    return SourceNames(video: shown(self.video?.name), audio: shown(self.audio?.name))
  }

  /// The names without passwords, as far as an audience sees them.
  package func shown(to audience: SourceAudience) -> SourceNames {
    func shown(_ name: String?) -> String? { name.map { SourceText($0).shown(to: audience) } }
    return SourceNames(video: shown(self.video?.name), audio: shown(self.audio?.name))
  }
}

extension VidiconError {
  /// The same error of a source or device, with a code that differs from the codes of the control API's own refusals:
  /// `notPermitted` means a client without the operator role, `busy` too many changes, `wrongState` the stream's state.
  var asSourceFailure: VidiconError {
    var error = self
    if [.notPermitted, .busy, .wrongState].contains(error.code) { error.code = .failed }
    return error
  }
}
