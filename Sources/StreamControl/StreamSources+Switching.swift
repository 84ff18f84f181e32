internal import Capture
public import Media
internal import MediaInput
internal import Streaming
internal import Synchronization
internal import Threading

extension StreamSources {
  /// Switches video to the next usable camera, the source that the stream started with, or the plasma; also to screens
  /// when the stream started with a screen.
  ///
  /// - Parameter skipped: Called for each source that cannot be opened.
  /// - Returns: The new source; nil when there is no other.
  public func switchToNext(
    skipped: (_ source: SourceSpecification.Video, _ reason: VidiconError) -> Void
  ) async -> SourceSpecification.Video? {
    let devices = await self.catalog.listDevices() ?? []
    // A key pressed by mistake must not share the screen.
    var allowsScreens = false
    if case .screen = self.start.video { allowsScreens = true }
    let usable = devices.filter { $0.kind == .camera || ($0.kind == .screen && allowsScreens) }
      .map { SourceSpecification.Video(stringLiteral: $0.specification) }
    var sources: [SourceSpecification.Video] = []
    for source in [self.start.video].compactMap({ $0 }) + usable + [.plasma] where !sources.contains(source) {
      sources.append(source)
    }
    let current = self.video.flatMap { sources.firstIndex(of: $0) } ?? -1
    for offset in 1..<max(1, sources.count + (current < 0 ? 1 : 0)) {
      let source = sources[(current + offset) % sources.count]
      do throws(VidiconError) {
        var isChanged = false
        try await self.exclusively { () throws(VidiconError) in
          isChanged = try await self.exchange(SourceSelection(video: source), onlyOtherDevices: true)
        }
        if isChanged { return source }
      } catch {
        skipped(source, error)
      }
    }
    return nil
  }

  /// Replaces sources. The caller holds the lock of ``exclusively(_:)``.
  ///
  /// - Parameters:
  ///   - onlyOtherDevices: Whether a device that is in use already stays untouched, whatever its options.
  ///   - isConfined: Whether a client chose them: files must be media containers on the disk, and addresses of networks are
  ///     checked.
  /// - Returns: Whether a source was replaced.
  @discardableResult
  func exchange(
    _ requested: SourceSelection, onlyOtherDevices: Bool = false, isConfined: Bool = false
  ) async throws(VidiconError) -> Bool {
    let requested = self.withoutPresent(requested)
    guard requested != SourceSelection() else { return false }
    guard let video = requested.video else {
      return try await self.perform(requested, onlyOtherDevices: onlyOtherDevices, isConfined: isConfined)
    }
    // From here on, a stream that hides this source covers it here too.
    self.beginVideoSwitch(to: video)
    do throws(VidiconError) {
      try await self.checkPrivacy(of: video)
      let isReplaced = try await self.perform(
        requested, onlyOtherDevices: onlyOtherDevices, isConfined: isConfined)
      await self.finishVideoSwitch()
      return isReplaced
    } catch {
      await self.finishVideoSwitch()
      throw error
    }
  }

  private func finishVideoSwitch() async {
    self.endVideoSwitch()
    await self.privacy.update()
  }

  /// Opens the requested sources, and switches to them.
  private func perform(
    _ requested: SourceSelection, onlyOtherDevices: Bool, isConfined: Bool
  ) async throws(VidiconError) -> Bool {
    self.keepPublished(SourceCatalog.Opened(video: self.stream.videoSource, audio: self.stream.audioSource))
    let wasVideoConfined = self.isVideoConfined.withLock { $0 }
    // The audio of the current video source is opened under its name.
    let namesCurrentVideo = requested.video == nil && requested.audio == .auto
    var opened = try await self.open(requested, isConfined: isConfined || (namesCurrentVideo && wasVideoConfined))
    // Another stream may have begun to hide it meanwhile.
    if let video = requested.video { try await self.checkPrivacy(of: video) }
    if let video = opened.video {
      let relation = await self.relation(of: video, to: self.stream.videoSource)
      if onlyOtherDevices ? relation != .otherDevice : relation == .same && self.hasVideo {
        opened.video = nil
        if requested.audio == .auto, self.audio == .auto, self.hasAudio { opened.audio = nil }
      }
    }
    let (previous, previousVideo) = (self.stream.videoSource, self.video)
    if let video = opened.video {
      try await self.replaceVideo(by: video, of: requested.video)
      self.isVideoConfined.withLock { $0 = isConfined && requested.video != self.start.video }
    }
    guard let audio = opened.audio else { return opened.video != nil }
    do throws(VidiconError) {
      try await self.stream.switchAudio(to: audio, named: requested.audio?.name)
    } catch {
      let error = self.switchFailure(error, hasTrack: self.stream.audioSource != nil)
      // Both sources change, or none.
      guard opened.video != nil, let previous else { throw error }
      do throws(VidiconError) {
        try await self.replaceVideo(by: previous, of: previousVideo)
        self.isVideoConfined.withLock { $0 = wasVideoConfined }
      } catch let previousError {
        throw error.notRestored(previousError)
      }
      throw error
    }
    self.setSelection { $0.audio = requested.audio }
    return true
  }

  /// Keeps a published source for as long as the stream: its publisher may go on while another source is current.
  private func keepPublished(_ sources: SourceCatalog.Opened) {
    guard let video = sources.video else { return }
    let videos = self.published.withLock { published in
      published.add(video: video, audio: sources.audio)
      return published.videos
    }
    self.stream.setStandbyVideos(videos)
  }

  /// Refuses a source that another stream hides. Where streams with privacy show the same one from now on, all of them cover the
  /// smallest faces of any, and others are covered.
  private func checkPrivacy(of video: SourceSpecification.Video) async throws(VidiconError) {
    guard self.privacy.hasPrivacy else { return }
    await self.privacy.identifySources(again: true)
    guard self.privacy.hasPrivacy else { return }
    guard let next = self.nextVideo, next.isComplete else { throw Self.doesNotOpen(video.name) }
    if let name = self.privacy.streamHiding(next.identity, from: self.stream) {
      throw VidiconError(
        .notPermitted, subject: SourceText(video.name).shown(isOperator: false),
        cause: "the stream \(name) shows it with faces covered, or has done so",
        nextStep: "cover them in \(self.stream.name) first: set faces to privacy")
    }
    // Smaller faces, too, before the first frame.
    await self.privacy.update()
  }

  private static func doesNotOpen(_ source: String) -> VidiconError {
    VidiconError(
      .timedOut, subject: source, cause: "it does not open", nextStep: "check the device or the network, then try again"
    )
  }

  /// Whether viewers see the source, not the slate.
  private var hasVideo: Bool { !self.stream.statistics.isSlateShown }

  /// Whether viewers hear the source, not replacement silence.
  private var hasAudio: Bool { !self.stream.statistics.isAudioMissing }

  /// The requested sources without the current ones that work. `auto` names another audio source when video changes.
  private func withoutPresent(_ requested: SourceSelection) -> SourceSelection {
    let current = self.selection
    var requested = requested
    if requested.video == current.video, self.hasVideo { requested.video = nil }
    if requested.audio == current.audio, self.hasAudio, requested.audio != .auto || requested.video == nil {
      requested.audio = nil
    }
    return requested
  }

  /// Whether a capturer uses the device of the current one.
  private func relation(
    of capturer: any VideoCapturer, to current: (any VideoCapturer)?
  ) async -> DeviceRelation {
    guard let current = current as? any ExclusiveCapturer, current !== capturer else { return .otherDevice }
    return await self.calls.run("relation", named: "devices", timeout: self.openingTimeout) {
      current.relation(of: capturer)
    } ?? .otherDevice
  }

  /// Opens the requested sources. A source without audio is opened as silence, since a track cannot end while a stream
  /// runs.
  private func open(_ requested: SourceSelection, isConfined: Bool) async throws(VidiconError) -> SourceCatalog.Opened {
    if requested.audio == SourceSpecification.Audio.none {
      guard self.stream.audioSource != nil, requested.video == nil else {
        return try await self.open(SourceSelection(video: requested.video), isConfined: isConfined)
      }
      throw VidiconError(
        .wrongState, subject: "none", cause: "the audio track cannot be removed while the stream runs",
        nextStep: "use silence, or mute it")
    }
    // Without an audio track, `auto` has nothing to select.
    let audio = requested.audio == .auto && self.stream.audioSource == nil ? nil : requested.audio
    if requested.video == nil, audio == .auto, let current = self.stream.videoSource,
      let own = self.published.withLock({ $0.audio(of: current) })
    {
      return SourceCatalog.Opened(audio: own)
    }
    let settings = self.stream.videoSettings
    let request = SourceCatalog.Request(
      video: requested.video, audio: audio, currentVideo: self.video, width: settings.width ?? 1280,
      height: settings.height ?? 720, frameRate: settings.frameRate ?? 30, isConfined: isConfined,
      allowsLinkLocal: !isConfined || self.catalog.allowsLinkLocal)
    let kind = "open \(requested.video?.name ?? "") \(requested.audio?.name ?? "")"
    let result = await self.calls.run(kind, named: "open", timeout: self.openingTimeout) {
      [catalog] () -> Result<SourceCatalog.Opened, VidiconError> in
      do throws(VidiconError) {
        return .success(try catalog.open(request))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(var opened):
      // A publisher sends to one source, however often the stream is switched to it.
      self.keepPublished(opened)
      (opened.video, opened.audio) = self.published.withLock { [opened] in
        $0.present(video: opened.video, audio: opened.audio)
      }
      if audio != nil, opened.audio == nil {
        opened.audio = SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 2))
      }
      return opened
    case .failure(let error): throw error.asSourceFailure
    case nil: throw Self.doesNotOpen(requested.video?.name ?? requested.audio?.name ?? "source")
    }
  }

  /// Switches video to another capturer. Of a device that is in use already, the current capturer stops first, since a
  /// device has one owner, and starts again when the new one fails.
  private func replaceVideo(
    by capturer: any VideoCapturer, of video: SourceSpecification.Video?
  ) async throws(VidiconError) {
    guard let current = self.stream.videoSource as? any ExclusiveCapturer,
      await self.relation(of: capturer, to: current) != .otherDevice
    else { return try await self.switchVideo(to: capturer, of: video) }
    let previousVideo = self.video
    _ = await WorkerThread.run(named: "stop", timeout: self.openingTimeout) { current.stop() }
    do throws(VidiconError) {
      try await self.switchVideo(to: capturer, of: video)
    } catch {
      if error.code == .wrongState { throw error }
      do throws(VidiconError) {
        // A switch to the capturer that the stream has would do nothing.
        try await self.switchVideo(to: current.another(), of: previousVideo)
      } catch let previousError {
        throw error.notRestored(previousError)
      }
      throw error
    }
  }

  private func switchVideo(
    to capturer: any VideoCapturer, of video: SourceSpecification.Video?
  ) async throws(VidiconError) {
    do throws(VidiconError) {
      try await self.stream.switchVideo(to: capturer, named: video?.name, replacing: self.video?.name)
    } catch {
      throw self.switchFailure(error, hasTrack: self.stream.videoSource != nil)
    }
    self.setVideo(video)
  }

  /// The error of a failed switch: `wrongState` when the stream has ended or lacks the track, else the source's failure.
  private func switchFailure(_ error: VidiconError, hasTrack: Bool) -> VidiconError {
    if self.stream.hasEnded || !hasTrack || error == .streamEnded { return error }
    var failure = error.asSourceFailure
    // The specification was valid: the device does not offer what it asks for.
    if failure.code == .invalidSpecification { failure.code = .unsupported }
    return failure
  }
}

extension VidiconError {
  /// The error, with the note that the previous video source could not be started again.
  fileprivate func notRestored(_ previous: VidiconError) -> VidiconError {
    var error = self
    error.nextStep += "; the previous source does not start again either: \(previous)"
    return error
  }
}
