internal import Codecs
internal import Effects
internal import Media
internal import Synchronization
internal import Threading

/// The further renditions of a stream, as its threads and its owner share them.
final class RenditionSet: Sendable {
  private struct State {
    var renditions: [RenditionEncoding] = []
    /// The stream's format, and how a rendition of it is created; nil before the video pipeline has opened.
    var factory: (format: VideoFormat, make: @Sendable (RenditionSettings) -> RenditionEncoding)?
    /// Encodings for one output each, without a name in addresses.
    var privates: [RenditionEncoding] = []
    /// Format of the stream, and how a frame of it is requested; nil before its pipeline has opened.
    var stream: (format: VideoFormat, video: VideoSettings, requestFrame: @Sendable () -> Void)?
    var hasEnded = false
  }

  /// Maximum time for a removed rendition to close its encoder, which a device may have only once.
  private static let closingTimeout = MediaDuration.seconds(2)

  /// Opens the encoders.
  let encoders = RenditionEncoders()

  private let state = Mutex(State())
  private let inUse = Atomic(false)
  private let keyframeRequested = Atomic(false)
  private let passedThrough = Atomic(false)
  private let changeCount = Atomic(0)
  private let discards = Atomic(0)

  /// The renditions, in the order of their settings; empty before the video pipeline has opened.
  var all: [RenditionEncoding] { self.state.withLock { $0.renditions } }

  /// Number of changes of ``all``; costs an atomic load.
  var changes: Int { self.changeCount.load(ordering: .acquiring) }

  /// The renditions, and the encodings for one output each.
  var encoded: [RenditionEncoding] { self.state.withLock { $0.renditions + $0.privates } }

  /// Whether any rendition is in use; costs an atomic load.
  var isInUse: Bool { self.inUse.load(ordering: .relaxed) }

  /// Whether access units of the source are the main rendition.
  var isMainPassedThrough: Bool {
    get { self.passedThrough.load(ordering: .relaxed) }
    set { self.passedThrough.store(newValue, ordering: .relaxed) }
  }

  /// Creates the renditions once the stream's format is known.
  ///
  /// - Parameters:
  ///   - requestKeyframe: Requests a keyframe from the pipeline.
  ///   - requestFrame: Requests a frame from the pipeline, which need not be a keyframe of the stream.
  func connect(
    _ stream: VideoSettings, format: VideoFormat, report: @escaping @Sendable (StreamEvent) -> Void,
    requestKeyframe: @escaping @Sendable () -> Void, requestFrame: @escaping @Sendable () -> Void
  ) {
    let (usable, problems) = stream.renditions.renditions(for: format)
    let make = { @Sendable [encoders] (settings: RenditionSettings) in
      RenditionEncoding(
        settings, of: format, video: stream, lingerTime: stream.renditionLingerTime,
        retryDelay: stream.renditionRetryDelay, preparationTimeout: stream.renditionPreparationTimeout,
        encoders: encoders, report: report,
        request: { [weak self] in
          guard let self else { return }
          self.keyframeRequested.store(true, ordering: .relaxed)
          // A source whose access units are passed through is not asked for the sake of these.
          if self.isMainPassedThrough { requestFrame() } else { requestKeyframe() }
        },
        requestFrame: requestFrame, usageChanged: { [weak self] in self?.updateUse() })
    }
    let renditions = usable.map(make)
    let isConnected = self.state.withLock { state in
      guard !state.hasEnded else { return false }
      state.factory = (format, make)
      state.stream = (format, stream, requestFrame)
      state.renditions = renditions
      return true
    }
    self.changeCount.add(1, ordering: .releasing)
    guard isConnected else { return }
    for (name, error) in problems { report(.renditionFailed(name, error)) }
  }

  /// Adds a rendition, or changes the one of its name; blocks until that one has closed its encoder.
  ///
  /// The caller makes one change at a time.
  ///
  /// - Throws: ``VidiconError`` when the stream cannot have it; nothing is changed.
  func set(_ settings: RenditionSettings) throws(VidiconError) {
    let plan = self.state.withLock { state -> Result<(index: Int, old: RenditionEncoding?)?, VidiconError> in
      guard !state.hasEnded else { return .failure(.streamEnded) }
      guard let format = state.factory?.format else { return .failure(.streamEncodesNoVideo) }
      var list = state.renditions.map(\.settings)
      let index = list.firstIndex { $0.name == settings.name } ?? list.count
      list.replaceSubrange(index..<min(index + 1, list.count), with: [settings])
      if let problem = RenditionSettings.problem(with: list) ?? settings.problem(in: format) {
        return .failure(problem)
      }
      guard index < state.renditions.count else { return .success((index, nil)) }
      if state.renditions[index].continues(with: settings) { return .success(nil) }
      return .success((index, state.renditions.remove(at: index)))
    }
    guard let (index, old) = try plan.get() else { return }
    // Its outputs end before the name can be requested again.
    if let old { self.close(old) }
    let isAdded = self.state.withLock { state in
      guard !state.hasEnded, let make = state.factory?.make else { return false }
      state.renditions.insert(make(settings), at: index)
      return true
    }
    self.changeCount.add(1, ordering: .releasing)
    self.updateUse()
    if !isAdded { throw .streamEnded }
  }

  /// Removes a rendition and ends its outputs; blocks until it has closed its encoder.
  ///
  /// The caller makes one change at a time.
  ///
  /// - Throws: ``VidiconError`` `notFound` where there is none of that name.
  func remove(named name: String) throws(VidiconError) {
    let rendition = self.state.withLock { state in
      state.renditions.firstIndex { $0.name == name }.map { state.renditions.remove(at: $0) }
    }
    guard let rendition else { throw .renditionNotFound(name) }
    self.close(rendition)
  }

  private func close(_ rendition: RenditionEncoding) {
    self.changeCount.add(1, ordering: .releasing)
    rendition.remove()
    self.updateUse()
    rendition.waitForThread(until: StreamClock.system.now() + Self.closingTimeout)
  }

  /// Maximum length of the rate control buffer of an encoding for viewers alone, which show each frame when it has come: small keyframes
  /// come soon.
  static let viewerRateBuffer = MediaDuration.milliseconds(500)

  /// Adds an encoding for one output alone, of the same frames and profile as the stream; not used yet.
  ///
  /// - Parameters:
  ///   - other: The rendition whose size and frame rate it has; nil for those of the stream.
  ///   - bitrate: First bitrate, in bits per second.
  ///   - profile: Profile; nil for that of the stream's encoders.
  ///   - maximumSliceLength: Maximum length of a slice in bytes; nil without a limit.
  ///   - isForViewers: Whether keyframes are made on request alone, with a rate control buffer of ``viewerRateBuffer`` at most, frames are
  ///     encoded beside those of the stream, and the encoder stays open for a while after its last use.
  /// - Returns: Nil before the stream has started, and after its end.
  func makePrivate(
    like other: RenditionEncoding?, bitrate: Int, profile: H264Profile? = nil, maximumSliceLength: Int? = nil,
    isForViewers: Bool = false
  ) -> RenditionEncoding? {
    guard let (format, settings, requestFrame) = self.state.withLock({ $0.hasEnded ? nil : $0.stream }) else {
      return nil
    }
    var video = settings
    if let profile { video.profile = profile }
    if isForViewers { video.rateBuffer = min(video.rateBuffer, Self.viewerRateBuffer) }
    let size = other?.format ?? format
    var encoder = other?.settings.encoder ?? video.encoder
    // A device has one encoder, or a few; and that of a viewer is to follow its network.
    let isFit = maximumSliceLength == nil || LibavH264Encoder.boundsSlices(encoder)
    if !isFit || isForViewers && !LibavH264Encoder.followsBitrate(encoder) { encoder = "libx264" }
    let own = RenditionSettings(
      name: other?.name ?? RenditionName.main, width: size.width, height: size.height, bitrate: bitrate,
      frameRate: size.frameRate,
      encoder: encoder)
    let rendition = RenditionEncoding(
      own, of: format, video: video, maximumSliceLength: maximumSliceLength,
      makesKeyframesOnRequest: isForViewers, lingerTime: isForViewers ? video.renditionLingerTime : .zero,
      preparationTimeout: video.renditionPreparationTimeout, encoders: self.encoders, report: { _ in }, request: nil,
      requestFrame: requestFrame,
      usageChanged: { [weak self] in self?.updateUse() })
    return self.state.withLock { state in
      guard !state.hasEnded else { return nil }
      state.privates.append(rendition)
      return rendition
    }
  }

  /// Ends an encoding that ``makePrivate(like:bitrate:)`` has made.
  func removePrivate(_ rendition: RenditionEncoding) {
    self.state.withLock { $0.privates.removeAll { $0 === rendition } }
    rendition.end()
    self.updateUse()
  }

  private func updateUse() {
    // In this order concurrent changes end with the last state.
    self.state.withLock { state in
      self.inUse.store((state.renditions + state.privates).contains(where: \.isInUse), ordering: .relaxed)
    }
  }

  /// Whether a rendition's viewers have requested a keyframe since the last call.
  func takeKeyframeRequest() -> Bool {
    self.keyframeRequested.exchange(false, ordering: .relaxed)
  }

  /// Outputs a sample of the stream's audio.
  func consumeAudio(_ sample: EncodedSample) {
    guard self.isInUse else { return }
    for rendition in self.encoded { rendition.consumeAudio(sample) }
  }

  /// Number of calls of ``discardEarlier()``. A frame is offered with the number from before its release.
  var generation: Int { self.discards.load(ordering: .sequentiallyConsistent) }

  /// Discards frames and samples released until now.
  ///
  /// - Returns: The new ``generation``.
  @discardableResult
  func discardEarlier() -> Int {
    let generation = self.discards.add(1, ordering: .sequentiallyConsistent).newValue
    for rendition in self.encoded { rendition.discardEarlier(to: generation) }
    return generation
  }

  /// Counts frames of the source that were not decoded for the renditions in use.
  func countDrops(_ count: Int) {
    for rendition in self.encoded where rendition.isInUse { rendition.countDrops(count) }
  }

  /// Ends the renditions and their outputs.
  func end() {
    let renditions = self.state.withLock { state in
      state.hasEnded = true
      return state.renditions + state.privates
    }
    for rendition in renditions { rendition.end() }
  }
}

/// Opens the encoders of a stream's renditions; tests replace it by one that fails or hangs.
final class RenditionEncoders: Sendable {
  typealias Open = @Sendable (VideoEncoderSettings) throws(VidiconError) -> any VideoEncoder

  private let body: Mutex<Open>

  init(_ body: @escaping Open = { (settings) throws(VidiconError) in try LibavH264Encoder(settings) }) {
    self.body = Mutex(body)
  }

  /// Replaces how encoders are opened.
  func replace(with body: @escaping Open) {
    self.body.withLock { $0 = body }
  }

  /// Opens an encoder; blocks, indefinitely where a driver hangs.
  func open(_ settings: VideoEncoderSettings) throws(VidiconError) -> any VideoEncoder {
    try self.body.withLock { $0 }(settings)
  }
}
