public import Capture
internal import Codecs
public import Media
internal import Synchronization
internal import Threading

extension LiveStream {
  /// Sets the video source.
  ///
  /// While the stream runs, the source is switched in the background as ``switchVideo(to:)`` does, after those attached
  /// before it; a failure is reported as ``StreamEvent/switchFailed(_:_:)``, and the previous source stays.
  public func attachVideo(_ capturer: any VideoCapturer) {
    let isAttached = self.state.withLock { state in
      guard state.phase == .idle else { return false }
      state.attach(capturer)
      return true
    }
    if !isAttached {
      self.switchLater(.video) { () throws(VidiconError) in try await self.switchVideo(to: capturer) }
    }
  }

  /// Sets the audio source; while the stream runs, as ``attachVideo(_:)`` does.
  public func attachAudio(_ capturer: any AudioCapturer) {
    let isAttached = self.state.withLock { state in
      guard state.phase == .idle else { return false }
      state.audio = capturer
      return true
    }
    if !isAttached {
      self.switchLater(.audio) { () throws(VidiconError) in try await self.switchAudio(to: capturer) }
    }
  }

  /// Switches a source after the previous calls. The task ends at the latest with the stream, which ends every switch.
  private func switchLater(_ kind: MediaKind, _ change: @escaping @Sendable () async throws(VidiconError) -> Void) {
    self.state.withLock { state in
      state.attachment = Task { [previous = state.attachment] in
        await previous?.value
        do throws(VidiconError) {
          try await change()
        } catch {
          self.shared.report(.switchFailed(kind, error))
        }
      }
    }
  }

  /// The video source; nil without one and after the stream has stopped.
  public var videoSource: (any VideoCapturer)? {
    self.state.withLock { $0.video }
  }

  /// The audio source; nil without one and after the stream has stopped.
  public var audioSource: (any AudioCapturer)? {
    self.state.withLock { $0.audio }
  }

  /// The current video source, and those that are kept while another one is current: publishers send to each of them.
  package var videoSources: [any VideoCapturer] {
    self.state.withLock { state in
      [state.video].compactMap(\.self) + state.standbyVideos.filter { $0 !== state.video }
    }
  }

  /// Keeps video sources while another one is current, until the stream ends.
  package func setStandbyVideos(_ capturers: [any VideoCapturer]) {
    self.state.withLock { if $0.phase != .ended { $0.standbyVideos = capturers } }
  }

  /// Switches the video to another source, and returns when it is the current one and the previous one is stopped.
  ///
  /// The previous source continues until the first frame of the new one has arrived, so that viewers see a cut and no
  /// gap. Output size, encoder and parameter sets stay; the new source may have another size, frame rate, pixel format
  /// and color matrix. Reported as ``StreamEvent/sourceSwitched(_:)``.
  ///
  /// Switches are performed one after the other, in the order of their calls. Before the stream is started this does
  /// what ``attachVideo(_:)`` does; while it starts, it waits for that. Switching to the current source does nothing.
  ///
  /// - Throws: A ``VidiconError``, and the previous source stays: the new source's own error, or
  ///   ``VidiconError/Code/failed``, when it cannot be opened within 10 s, or fails, ends or delivers nothing within 5
  ///   s after that; ``VidiconError/Code/wrongState`` when the stream was started without video or has ended;
  ///   ``VidiconError/Code/cancelled`` when the task is cancelled before the switch begins.
  public func switchVideo(to capturer: any VideoCapturer) async throws(VidiconError) {
    try await self.switchVideo(to: capturer, named: nil, replacing: nil)
  }

  /// Calls around a switch of video whose caller gives no name. Both are made while no other switch runs.
  package struct VideoSwitchObserver: Sendable {
    /// Called before the switch, with ``VideoCapturer/sourceName``.
    package var begin: @Sendable (String?) -> Void
    /// Called after it, with that name and whether it is the one of the current source.
    package var end: @Sendable (String?, Bool) -> Void

    /// Creates an observer of two calls.
    package init(begin: @escaping @Sendable (String?) -> Void, end: @escaping @Sendable (String?, Bool) -> Void) {
      (self.begin, self.end) = (begin, end)
    }
  }

  /// Switches video as ``switchVideo(to:)``, and remembers rotation and mirroring by name too.
  ///
  /// - Parameters:
  ///   - name: Name of the new source; a source that was replaced under this name gives its rotation and mirroring to it.
  ///   - previousName: Name of the current source.
  package func switchVideo(
    to capturer: any VideoCapturer, named name: String?, replacing previousName: String?
  ) async throws(VidiconError) {
    guard await self.videoLock.lock() else { throw .streamRequestCancelled }
    defer { self.videoLock.unlock() }
    let previous = self.videoSource
    let observer = name == nil && previous !== capturer ? self.videoSwitchObserver.withLock { $0 } : nil
    observer?.begin(capturer.sourceName)
    defer { observer?.end(capturer.sourceName, self.videoSource === capturer) }
    guard
      let (change, previousFeed) = try self.prepareVideoSwitch(to: capturer, named: name, replacing: previousName)
    else { return }
    try await self.run(change) { state in
      guard let previous = state.video else { return nil }
      state.pastAdjustments.keep(previousFeed.adjustment, of: previous, named: previousName)
      state.video = capturer
      return { previous.stop() }
    }.get()
  }

  /// Switches the audio to another source, and returns when it is the current one and the previous one is stopped.
  ///
  /// Behaves as ``switchVideo(to:)``. Audio is converted to the stream's sample rate and number of channels, and its
  /// timestamps stay contiguous: a gap is filled with silence, an overlap cut. For silence there is ``isMuted``.
  public func switchAudio(to capturer: any AudioCapturer) async throws(VidiconError) {
    try await self.switchAudio(to: capturer, named: nil)
  }

  /// Switches audio as ``switchAudio(to:)``.
  ///
  /// - Parameter name: Name of the new source; one that hangs while it is opened is not opened again under this name.
  package func switchAudio(to capturer: any AudioCapturer, named name: String?) async throws(VidiconError) {
    guard await self.audioLock.lock() else { throw .streamRequestCancelled }
    defer { self.audioLock.unlock() }
    guard let change = try self.prepareAudioSwitch(to: capturer, named: name) else { return }
    try await self.run(change) { state in
      guard let previous = state.audio else { return nil }
      state.audio = capturer
      return { previous.stop() }
    }.get()
  }
}

// MARK: Adjustments

extension LiveStream {
  /// Whether the current source is mirrored for all viewers, after ``rotation`` and in addition to the mirroring of its
  /// frames. Belongs to the source: another one starts unmirrored, and one that returns keeps its setting.
  public var isMirrored: Bool {
    get { self.adjustment.isMirrored }
    set { self.adjust { $0.isMirrored = newValue } }
  }

  /// Rotation of the current source for all viewers, in addition to the orientation of its frames; the output keeps its
  /// size. Belongs to the source, as ``isMirrored`` does.
  public var rotation: Orientation {
    get { self.adjustment.rotation }
    set { self.adjust { $0.rotation = newValue } }
  }

  /// Whether previews of the user's own camera are to be mirrored; the stream itself is unchanged. True for a front
  /// camera unless set otherwise; belongs to the source, as ``isMirrored`` does.
  public var isPreviewMirrored: Bool {
    get { self.adjustment.isPreviewMirrored ?? (self.videoSource?.position == .front) }
    set { self.adjust { $0.isPreviewMirrored = newValue } }
  }

  /// Whether silence is encoded in place of the audio; the track continues.
  public var isMuted: Bool {
    get { self.shared.isMuted }
    set { self.shared.isMuted = newValue }
  }

  /// Level of the source's audio in the last 100 ms, muted or not.
  public var audioLevel: AudioLevel {
    self.shared.audioLevel
  }

  private var adjustment: SourceAdjustment {
    self.state.withLock { $0.currentFeed?.adjustment ?? $0.adjustment }
  }

  private func adjust(_ body: (inout SourceAdjustment) -> Void) {
    self.state.withLock { state in
      guard let feed = state.currentFeed else { return body(&state.adjustment) }
      feed.adjust(body)
      state.videoQueue?.requestRedraw()
    }
  }
}

// MARK: Switching

extension LiveStream {
  /// The switch and the current source; nil when nothing is left to do.
  private func prepareVideoSwitch(
    to capturer: any VideoCapturer, named name: String?, replacing previousName: String?
  ) throws(VidiconError) -> (SourceSwitch<VideoInputQueue>, VideoFeed)? {
    try self.prepareSwitch { (state) throws(VidiconError) in
      if state.video === capturer { return nil }
      if state.phase == .idle {
        state.attach(capturer, named: name, replacing: previousName)
        return nil
      }
      guard let inputQueue = state.videoQueue else { throw .streamHasNoTrack(.video) }
      guard let previous = state.currentFeed else { throw .streamEnded }
      // The same source, opened again, keeps its adjustment.
      let isSame = name != nil && name == previousName
      let feed = VideoFeed(
        capturer: capturer, inputQueue: inputQueue,
        adjustment: isSame ? previous.adjustment : state.pastAdjustments.adjustment(of: capturer, named: name))
      let opening = SourceOpening(of: capturer, named: name, into: feed) { self.finishOpening(capturer) }
      try state.add(opening)
      let timeouts = self.videoSettings.switchTimeouts
      return (
        SourceSwitch(kind: .video, inputQueue: inputQueue, feed: feed, opening: opening, timeouts: timeouts), previous
      )
    }
  }

  private func prepareAudioSwitch(
    to capturer: any AudioCapturer, named name: String?
  ) throws(VidiconError) -> SourceSwitch<AudioInputQueue>? {
    try self.prepareSwitch { (state) throws(VidiconError) in
      if state.audio === capturer { return nil }
      if state.phase == .idle {
        state.audio = capturer
        return nil
      }
      guard let inputQueue = state.audioQueue else { throw .streamHasNoTrack(.audio) }
      let feed = AudioFeed(capturer: capturer, inputQueue: inputQueue)
      let opening = SourceOpening(of: capturer, named: name, into: feed) { self.finishOpening(capturer) }
      try state.add(opening)
      let timeouts = self.videoSettings.switchTimeouts
      return SourceSwitch(kind: .audio, inputQueue: inputQueue, feed: feed, opening: opening, timeouts: timeouts)
    }
  }

  private func prepareSwitch<Result>(
    _ body: (inout State) throws(VidiconError) -> Result?
  ) throws(VidiconError) -> Result? {
    let hasEnded = self.hasEnded
    return try self.state.withLock { (state) throws(VidiconError) in
      if hasEnded || state.phase == .ended { throw .streamEnded }
      return try body(&state)
    }
  }

  /// Forgets the opening of a source, whose start has returned.
  func finishOpening(_ capturer: any AnyObject & Sendable) {
    self.state.withLock { $0.openings.removeAll { $0.capturer === capturer } }
  }

  /// Runs a switch on a thread of its own.
  ///
  /// - Parameter exchange: Records the new source, and returns how the previous one is stopped; nil when the stream has
  ///   stopped meanwhile.
  private func run<InputQueue>(
    _ change: SourceSwitch<InputQueue>, exchange: @escaping @Sendable (inout State) -> (@Sendable () -> Void)?
  ) async -> Result<Void, VidiconError> {
    self.switches.withLock { $0 += 1 }
    let result = await WorkerThread.run(named: "switch") { () -> Result<Void, VidiconError> in
      defer { self.switches.withLock { $0 -= 1 } }
      let result = change.run()
      guard case .success = result else { return result }
      guard let stopPrevious = self.state.withLock({ exchange(&$0) }) else {
        change.opening.stop()
        return .failure(.streamEnded)
      }
      stopPrevious()
      return result
    }
    if let result { return result }
    self.switches.withLock { $0 -= 1 }
    change.opening.returned()
    return .failure(.noThread("stream"))
  }
}

extension LiveStream.State {
  /// Connection of the current video source, while the stream runs.
  fileprivate var currentFeed: VideoFeed? {
    self.videoQueue?.withSlot { $0.current }
  }

  fileprivate mutating func attach(
    _ capturer: any VideoCapturer, named name: String? = nil, replacing previousName: String? = nil
  ) {
    if let video = self.video {
      self.pastAdjustments.keep(self.adjustment, of: video, named: previousName)
      self.adjustment = self.pastAdjustments.adjustment(of: capturer, named: name)
    }
    self.video = capturer
  }

  /// Maximum number of sources that are being opened, most of which hang: only two can be opened at a time.
  private static var maximumOpening: Int { 8 }

  /// Registers a source that is being opened. Only one thread may open a source at a time, and one that hangs must not
  /// occupy another thread with each request.
  fileprivate mutating func add(_ opening: SourceOpening) throws(VidiconError) {
    let isOpening = self.openings.contains {
      $0.capturer === opening.capturer || ($0.name == opening.name && opening.name != nil)
    }
    guard !isOpening else {
      throw VidiconError(
        .failed, subject: "new source", cause: "it is still being opened since the last try",
        nextStep: "try again when that has ended, or use another one")
    }
    guard self.openings.count < Self.maximumOpening else {
      throw VidiconError(
        .failed, subject: "new source",
        cause: "\(self.openings.count) sources are still being opened",
        nextStep: "unplug devices that do not respond, or try again later")
    }
    self.openings.append(opening)
  }
}
