public import Capture
internal import CaptureDevices
internal import HTTPServer
internal import Media
internal import StreamControl
public import Streaming
internal import Synchronization
internal import Threading

/// The sources of a stream by the texts that name them, and the way to change them, and all that can be changed, while it
/// runs: for the web page, the HTTP API and keys alike. Changes of sources happen one after the other.
///
/// ```swift
/// try await server.sources(of: stream)?.replace(video: "v4l2:/dev/video1", audio: "mic:")
/// ```
public final class StreamSources: Sendable {
  private struct State {
    var present: HTTPServerControl.Sources
    /// What was done to pictures of sources that were replaced, by their names.
    var adjustments: [String: Adjustment] = [:]
  }

  private struct Adjustment {
    var isMirrored: Bool
    var rotation: Orientation
  }

  /// The stream.
  public let stream: LiveStream
  let offer: SourceCatalog
  let start: HTTPServerControl.Sources
  private let turns = AsyncMutex(maximumWaiters: 16)
  private let state: Mutex<State>

  /// The most sources whose mirroring and rotation are remembered.
  private static let mostAdjustments = 64
  /// How long sources may take to be opened before they are started, which has a limit of its own.
  private static let openingLimit = Duration.seconds(15)
  /// How long a device may take to tell or to set its controls.
  private static let controlLimit = Duration.seconds(5)

  /// The sources of a stream.
  ///
  /// - Parameters:
  ///   - video: What names the source of its picture; nil where nothing does.
  ///   - audio: What names the source of its sound; likewise.
  ///   - offer: Which ones it can have.
  public init(_ stream: LiveStream, video: String? = nil, audio: String? = nil, offer: SourceCatalog = .all) {
    self.stream = stream
    self.offer = offer
    self.start = HTTPServerControl.Sources(video: video, audio: audio)
    self.state = Mutex(State(present: self.start))
  }

  /// What names the source of the picture now, as it was given, with passwords; nil where nothing does.
  public var video: String? { self.state.withLock { $0.present.video } }

  /// What names the source of the sound now; likewise.
  public var audio: String? { self.state.withLock { $0.present.audio } }

  /// What names both now, fit to be shown to whoever runs the program: without passwords.
  package var shown: (video: String?, audio: String?) {
    let present = self.state.withLock { $0.present }
    func shown(_ text: String?) -> String? { text.map { SourceText($0).shown(isTrusted: true) } }
    return (shown(present.video), shown(present.audio))
  }

  /// The same once no change is under way.
  package var settled: (video: String?, audio: String?) {
    get async {
      if await self.turns.lock() { self.turns.unlock() }
      return self.shown
    }
  }

  /// Replaces the source of the picture, of the sound, or of both, and returns when the new ones have taken over.
  ///
  /// - Parameters:
  ///   - video: What names the new source; nil for the present one.
  ///   - audio: What names the new source; nil for the present one.
  /// - Throws: ``SourceChangeError``, and the sources stay.
  public func replace(video: String? = nil, audio: String? = nil) async throws(SourceChangeError) {
    try await self.inTurn { () throws(SourceChangeError) in
      try await self.exchange(HTTPServerControl.Sources(video: video, audio: audio))
    }
  }

  /// Changes the values of controls of the picture's source: all or none.
  ///
  /// - Parameter values: By the controls' names; nil for the default.
  /// - Throws: ``SourceChangeError``, and the controls have the values that they had.
  public func setControls(_ values: [String: Int?]) async throws(SourceChangeError) {
    try await self.inTurn { () throws(SourceChangeError) in try await self.set(values, resettingOthers: false) }
  }

  /// The controls of the picture's source; may ask the device, so it is not to be called where nothing may wait.
  public var controls: [DeviceControl] {
    (self.stream.videoSource as? any ControllableCapturer)?.controls ?? []
  }

  /// Runs a change when those before it are done.
  func inTurn(_ body: () async throws(SourceChangeError) -> Void) async throws(SourceChangeError) {
    guard await self.turns.lock() else { throw .busy }
    defer { self.turns.unlock() }
    try await body()
  }
}

// MARK: Sources

extension StreamSources {
  /// Replaces sources, in turn.
  ///
  /// - Parameter onlyOtherDevices: Whether a device that is there already is left as it is, whatever is wanted of it.
  /// - Returns: Whether anything is another source now.
  @discardableResult
  func exchange(
    _ wanted: HTTPServerControl.Sources, onlyOtherDevices: Bool = false
  ) async throws(SourceChangeError) -> Bool {
    let wanted = self.withoutPresent(wanted)
    guard wanted != HTTPServerControl.Sources() else { return false }
    var opened = try await self.open(wanted)
    if let video = opened.video {
      let relation = await Self.relation(of: video, to: self.stream.videoSource)
      if onlyOtherDevices ? relation != .otherDevice : relation == .same && self.hasPicture {
        opened.video = nil
        if wanted.audio == "auto", self.audio == "auto", self.hasSound { opened.audio = nil }
      }
    }
    let (earlier, earlierName) = (self.stream.videoSource, self.video)
    if let video = opened.video { try await self.putVideo(video, named: wanted.video) }
    guard let audio = opened.audio else { return opened.video != nil }
    do throws(VidiconError) {
      try await self.stream.switchAudio(to: audio)
    } catch {
      // Both or none.
      guard opened.video != nil, let earlier else { throw .failed(error) }
      do throws(SourceChangeError) {
        try await self.putVideo(earlier, named: earlierName)
      } catch .failed(let earlierError) {
        throw .notRestored(error, earlier: earlierError)
      } catch let rollbackError {
        throw rollbackError
      }
      throw .failed(error)
    }
    self.state.withLock { $0.present.audio = wanted.audio }
    return true
  }

  /// Whether viewers see the source, and not that it has ended or is silent.
  private var hasPicture: Bool { !self.stream.statistics.isSlateShown }

  /// Likewise of the sound.
  private var hasSound: Bool { !self.stream.statistics.isAudioMissing }

  /// What is wanted and not there already. What fits the picture is another sound with another picture.
  private func withoutPresent(_ wanted: HTTPServerControl.Sources) -> HTTPServerControl.Sources {
    let present = self.state.withLock { $0.present }
    var wanted = wanted
    if wanted.video == present.video, self.hasPicture { wanted.video = nil }
    if wanted.audio == present.audio, self.hasSound, wanted.audio != "auto" || wanted.video == nil {
      wanted.audio = nil
    }
    return wanted
  }

  /// What a capturer's device is to the present one's.
  private static func relation(
    of capturer: any VideoCapturer, to present: (any VideoCapturer)?
  ) async -> DeviceRelation {
    guard let present = present as? any ExclusiveCapturer, present !== capturer else { return .otherDevice }
    return await WorkerThread.run(named: "devices", timeout: Self.openingLimit) { present.relation(of: capturer) }
      ?? .otherDevice
  }

  /// Opens what is wanted; sound that there is none of is silence, since a track does not end while a stream runs.
  private func open(_ wanted: HTTPServerControl.Sources) async throws(SourceChangeError) -> SourceCatalog.Opened {
    if wanted.audio == "none" {
      guard self.stream.audioSource != nil, wanted.video == nil else {
        return try await self.open(HTTPServerControl.Sources(video: wanted.video))
      }
      throw .wrongState("none: the sound track stays while the stream runs; use silence, or mute it")
    }
    let hasSound = self.stream.audioSource != nil
    // What fits pictures is nothing where there can be no sound.
    let audio = wanted.audio == "auto" && !hasSound ? nil : wanted.audio
    let settings = self.stream.videoSettings
    let request = SourceCatalog.Request(
      video: wanted.video, audio: audio, presentVideo: self.video, width: settings.width ?? 1280,
      height: settings.height ?? 720, frameRate: settings.frameRate ?? 30)
    let result = await WorkerThread.run(named: "open", timeout: Self.openingLimit) {
      [offer] () -> Result<SourceCatalog.Opened, VidiconError> in
      do throws(VidiconError) {
        return .success(try offer.open(request))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(var opened):
      if audio != nil, opened.audio == nil {
        opened.audio = SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 2))
      }
      return opened
    case .failure(let error): throw error.code == .invalidSpecification ? .invalid(error) : .failed(error)
    case nil:
      throw .failed(
        VidiconError(
          .failed, subject: wanted.video ?? wanted.audio ?? "", cause: "it does not open",
          nextStep: "check the device or the network, then try again"))
    }
  }

  /// Gives the stream another picture. Of a device that it has already the present capturer is stopped first, since only
  /// one can have it, and started again when the new one fails.
  private func putVideo(_ capturer: any VideoCapturer, named name: String?) async throws(SourceChangeError) {
    guard let present = self.stream.videoSource as? any ExclusiveCapturer,
      await Self.relation(of: capturer, to: present) != .otherDevice
    else { return try await self.switchVideo(to: capturer, named: name) }
    let earlierName = self.video
    _ = await WorkerThread.run(named: "stop", timeout: Self.openingLimit) { present.stop() }
    do throws(SourceChangeError) {
      try await self.switchVideo(to: capturer, named: name)
    } catch {
      guard case .failed(let reason) = error else { throw error }
      do throws(SourceChangeError) {
        // A stream does not switch to the capturer that it has.
        try await self.switchVideo(to: present.another(), named: earlierName)
      } catch .failed(let earlierError) {
        throw .notRestored(reason, earlier: earlierError)
      } catch let rollbackError {
        throw rollbackError
      }
      throw error
    }
  }

  private func switchVideo(to capturer: any VideoCapturer, named name: String?) async throws(SourceChangeError) {
    let adjustment = Adjustment(isMirrored: self.stream.isMirrored, rotation: self.stream.rotation)
    do throws(VidiconError) {
      try await self.stream.switchVideo(to: capturer)
    } catch {
      throw .failed(error)
    }
    let remembered = self.state.withLock { state in
      if let earlier = state.present.video {
        if state.adjustments.count >= Self.mostAdjustments { state.adjustments = [:] }
        state.adjustments[earlier] = adjustment
      }
      state.present.video = name
      return name.flatMap { state.adjustments[$0] }
    }
    if let remembered { (self.stream.isMirrored, self.stream.rotation) = (remembered.isMirrored, remembered.rotation) }
  }

  /// Switches the picture to the next one of the cameras that open, of the source that the stream began with, and of the
  /// plasma; of the screens too when the stream began with one.
  ///
  /// - Parameter skipped: Told of each source that does not open, and why.
  /// - Returns: What names the new source; nil when there is no other.
  public func switchToNext(skipped: (_ source: String, _ reason: SourceChangeError) -> Void) async -> String? {
    let devices = await self.offer.listDevices() ?? []
    // A key pressed by mistake does not put the screen on air.
    let hasScreens = self.start.video.map(SourceText.init)?.scheme == "screen"
    let usable = devices.filter { $0.kind == .camera || ($0.kind == .screen && hasScreens) }.map(\.specification)
    var sources: [String] = []
    for source in [self.start.video].compactMap({ $0 }) + usable + ["plasma"] where !sources.contains(source) {
      sources.append(source)
    }
    let present = self.video.flatMap { sources.firstIndex(of: $0) } ?? -1
    for offset in 1..<max(1, sources.count + (present < 0 ? 1 : 0)) {
      let source = sources[(present + offset) % sources.count]
      do throws(SourceChangeError) {
        var isAnother = false
        try await self.inTurn { () throws(SourceChangeError) in
          isAnother = try await self.exchange(HTTPServerControl.Sources(video: source), onlyOtherDevices: true)
        }
        if isAnother { return source }
      } catch {
        skipped(source, error)
      }
    }
    return nil
  }
}

// MARK: Settings

extension StreamSources {
  /// Changes all of it or nothing. What asks no device waits for nobody.
  func change(_ change: HTTPServerControl.Change) async throws(SourceChangeError) {
    if !change.controls.isEmpty || change.resetsControls {
      try await self.inTurn { () throws(SourceChangeError) in
        try await self.set(change.controls, resettingOthers: change.resetsControls)
      }
    }
    if let bitrate = change.bitrate { self.stream.videoBitrate = bitrate }
    if let isMirrored = change.isMirrored { self.stream.isMirrored = isMirrored }
    if let rotation = change.rotation { self.stream.rotation = rotation }
    if let isMuted = change.isMuted { self.stream.isMuted = isMuted }
    if let isPaused = change.isPaused { self.stream.isEncodingPaused = isPaused }
  }

  private func set(_ values: [String: Int?], resettingOthers: Bool) async throws(SourceChangeError) {
    guard let source = self.stream.videoSource as? any ControllableCapturer else {
      if values.isEmpty { return }
      throw .invalid(
        VidiconError(
          .notFound, subject: values.keys.sorted().joined(separator: ", "),
          cause: "the source of the picture has no controls", nextStep: "choose a camera"))
    }
    let result = await WorkerThread.run(named: "controls", timeout: Self.controlLimit) {
      ControlChange.perform(values, resettingOthers: resettingOthers, on: source)
    }
    switch result {
    case .success: return
    case .failure(let error):
      throw [.notFound, .invalidSpecification].contains(error.code) ? .invalid(error) : .failed(error)
    case nil:
      throw .failed(
        VidiconError(.failed, subject: "controls", cause: "the camera does not answer", nextStep: "plug it in again"))
    }
  }
}
