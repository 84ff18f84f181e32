internal import Capture
internal import Codecs
internal import Effects
public import Media
internal import Synchronization
internal import Threading

/// A network camera: video and audio, encoded once for any number of outputs.
///
/// ```swift
/// let stream = LiveStream("hello", video: .init(width: 1280, height: 720, frameRate: 30))
/// stream.attachVideo(PlasmaCapturer())
/// stream.attachAudio(ToneCapturer())
/// try await server.publish(stream)
/// ```
///
/// A stream runs once: it is started by the server that publishes it, and runs until it is stopped or its encoder
/// fails. Losing a source does not end it, and the source can be replaced at any time, see ``switchVideo(to:)``.
public final class LiveStream: Sendable {
  /// Name in the stream's addresses, such as `rtsp://HOST:8554/NAME`; may contain slashes, see ``problem(withName:)``.
  public let name: String
  /// Video settings, constant for the lifetime of the stream; ``videoBitrate`` can be changed separately.
  public let videoSettings: VideoSettings
  /// Audio settings, constant for the lifetime of the stream.
  public let audioSettings: AudioSettings

  enum Phase {
    case idle, starting, running, ended
  }

  /// A source that is being opened.
  struct Opening: Sendable {
    var capturer: any AnyObject & Sendable
    /// Name of the source; nil where it has none.
    var name: String?
  }

  struct State: Sendable {
    var phase = Phase.idle
    var video: (any VideoCapturer)?
    var audio: (any AudioCapturer)?
    var videoQueue: VideoInputQueue?
    var audioQueue: AudioInputQueue?
    /// Adjustment of the video source until the stream is started.
    var adjustment = SourceAdjustment()
    var pastAdjustments = PastAdjustments()
    /// The opening of the first sources, while the stream starts.
    var firstOpening: SourceOpening?
    /// Sources that are being opened, or were given up while they were; each occupies a thread.
    var opening: [Opening] = []
    var threads: [WorkerThread] = []
    /// The last switch by ``attachVideo(_:)`` or ``attachAudio(_:)`` of a running stream.
    var attachment: Task<Void, Never>?
    /// The source that the start could not start.
    var failedSource: MediaKind?
    /// Last codec configuration by kind.
    var latest: [MediaKind: CodecDescription] = [:]

    /// Video first; empty before the stream has started.
    var descriptions: [CodecDescription] {
      self.phase == .idle || self.phase == .starting
        ? [] : [self.latest[.video], self.latest[.audio]].compactMap(\.self)
    }
  }

  let state = Mutex(State())
  /// Held while a codec configuration is announced to outputs, so that an old one never follows a new one.
  private let announcements = Mutex(())
  /// Nil once the outputs have been ended.
  private let outputs = Mutex<[any StreamOutput]?>([])
  let shared: StreamState
  /// Serializes switches of one kind, and the start.
  let videoLock = AsyncMutex()
  let audioLock = AsyncMutex()
  /// Serializes changes of the renditions.
  let renditionLock = AsyncMutex(maximumWaiters: 16)
  /// Number of switches in progress.
  let switches = Monitor(0)

  /// Creates a stream without sources.
  ///
  /// - Parameters:
  ///   - name: Name in its addresses.
  ///   - video: Video settings; by default those of the source.
  ///   - audio: Audio settings; by default those of the source.
  public init(_ name: String, video: VideoSettings = VideoSettings(), audio: AudioSettings = AudioSettings()) {
    self.name = name
    self.videoSettings = video
    self.audioSettings = audio
    self.shared = StreamState(videoBitrate: video.bitrate)
  }

  /// Codec configuration of each track, video first; empty until the stream has started. Changes when passing through a
  /// source begins or ends.
  public var descriptions: [CodecDescription] {
    self.state.withLock { $0.descriptions }
  }

  /// Snapshots and motion JPEG of the stream; without cost while unused.
  public var snapshots: StreamSnapshots {
    self.shared.snapshots
  }

  /// The renditions beside the main one, in the order of their settings; empty before the stream has started. Those that the
  /// stream's size does not allow are left out.
  public var renditions: [StreamRendition] {
    self.shared.renditions.all
  }

  /// The rendition of a name; nil for the main one, and where there is none.
  public func rendition(named name: some StringProtocol) -> StreamRendition? {
    self.renditions.first { $0.name == name }
  }

  /// Adds an encoding for one output alone, such as a push whose link carries less than the stream: the same frames and profile,
  /// a bitrate of its own. It is not among ``renditions``, costs as much as the stream's encoding while it is used, and no other
  /// output is affected.
  ///
  /// - Parameters:
  ///   - rendition: The rendition whose size and frame rate it has; nil for those of the stream.
  ///   - bitrate: First bitrate, in bits per second.
  /// - Returns: Nil while the stream does not run.
  package func makePrivateRendition(like rendition: StreamRendition?, bitrate: Int) -> StreamRendition? {
    self.shared.renditions.makePrivate(like: rendition, bitrate: bitrate)
  }

  /// Ends an encoding that ``makePrivateRendition(like:bitrate:)`` has added.
  package func removePrivateRendition(_ rendition: StreamRendition) {
    self.shared.renditions.removePrivate(rendition)
  }

  /// Events of the stream; for one consumer. Ends when the stream is stopped.
  public var events: AsyncStream<StreamEvent> {
    self.shared.events
  }

  /// Whether frames are captured but not encoded: viewers see a still frame and the encoder rests, except for a
  /// keyframe for each new viewer. Audio continues.
  public var isEncodingPaused: Bool {
    get { self.shared.isPaused }
    set { self.shared.isPaused = newValue }
  }

  /// Target bitrate of the video in bits per second; a change applies to the next frame.
  public var videoBitrate: Int {
    get { self.shared.videoBitrate }
    set { self.shared.videoBitrate = max(1, newValue) }
  }

  /// Average bitrate of the main rendition's video since the start, in bits per second; nil in the first second. Below
  /// ``videoBitrate`` where the frames need less.
  package var averageVideoBitrate: Int? {
    var frameRate = 0.0
    for case .h264(let video) in self.descriptions { frameRate = video.frameRate.framesPerSecond }
    let (bytes, frames) = self.shared.statistics.withLock { ($0.videoBytes, $0.framesOut) }
    guard frameRate > 0, Double(frames) >= frameRate else { return nil }
    return Int(Double(bytes) * 8 * frameRate / Double(frames))
  }

  /// Counters since the start, and the current state of queues, slate and effects.
  public var statistics: StreamStatistics {
    let (video, audio) = self.state.withLock { ($0.videoQueue, $0.audioQueue) }
    var statistics = self.shared.statistics.withLock { $0 }
    statistics.effects = self.shared.effects.statistics
    if let counts = video?.counts {
      statistics.framesIn = counts.framesIn
      statistics.framesThinned = counts.thinned
      statistics.framesDropped = counts.drops
      statistics.videoFramesQueued = counts.queued
    }
    if let counts = audio?.counts {
      statistics.audioBlocksDropped = counts.dropped
      statistics.audioBlocksQueued = counts.blocks
      statistics.audioQueued = counts.queued
    }
    return statistics
  }

  /// Requests a keyframe: for a new viewer, a lost frame, a new segment. Met by the next frame, at most every half
  /// second.
  public func requestKeyframe() {
    self.shared.statistics.withLock { $0.keyframeRequests += 1 }
    self.state.withLock { $0.videoQueue }?.requestKeyframe()
  }

  /// Adds an output; it gets every sample from now on. One added after the end of the stream is ended at once.
  public func add(_ output: any StreamOutput) {
    let isAdded = self.outputs.withLock { outputs in
      guard outputs != nil else { return false }
      outputs?.append(output)
      return true
    }
    guard isAdded else { return output.streamEnded() }
    // Codec configurations may have changed since the output was created.
    self.announcements.withLock { _ in
      for description in self.descriptions { output.descriptionChanged(to: description) }
    }
  }

  /// Whether the stream has started and not ended.
  public var isRunning: Bool {
    self.state.withLock { $0.phase == .running } && self.outputs.withLock { $0 != nil }
  }

  /// The source whose start failed, and with it ``start()``; nil when another part failed, or none.
  package var failedSource: MediaKind? {
    self.state.withLock { $0.failedSource }
  }

  /// Whether the stream has ended.
  package var hasEnded: Bool {
    self.outputs.withLock { $0 == nil }
  }

  /// Removes an output; it may still get samples that are being delivered.
  public func remove(_ output: any StreamOutput) {
    self.outputs.withLock { $0?.removeAll { $0 === output } }
  }

  /// Starts sources and encoders, and returns when the first frame is encoded.
  ///
  /// - Throws: The ``VidiconError`` of the source or encoder that cannot be opened, ``VidiconError/Code/failed`` for a
  ///   source that is not open after 10 s; everything is then stopped again.
  ///   ``VidiconError/Code/missingTrack`` without a source, ``VidiconError/Code/wrongState`` when the stream was
  ///   started before or is stopped meanwhile, ``VidiconError/Code/cancelled`` when the task was cancelled before the
  ///   start began.
  public func start() async throws(VidiconError) {
    guard await self.videoLock.lock() else { throw .streamRequestCancelled }
    defer { self.videoLock.unlock() }
    guard await self.audioLock.lock() else { throw .streamRequestCancelled }
    defer { self.audioLock.unlock() }
    try self.prepare()
    do throws(VidiconError) {
      try await self.startCapturers().get()
      try self.checkStarting()
      _ = try await self.startVideo()?.get()
      try self.checkStarting()
      if let description = try await self.startAudio()?.get() { self.describe(description) }
      let isRunning = self.state.withLock { state in
        guard state.phase == .starting else { return false }
        state.phase = .running
        return true
      }
      guard isRunning else { throw .streamStopped }
    } catch {
      await self.tearDown()
      throw error
    }
  }

  /// Stops sources and encoders and notifies every output that the stream has ended; without effect when it has.
  ///
  /// While the stream starts, ``start()`` does the stopping, and throws a ``VidiconError`` with ``VidiconError/Code/wrongState``.
  public func stop() async {
    let wasStarting = self.state.withLock { state in
      guard state.phase == .starting else { return false }
      state.phase = .ended
      state.firstOpening?.abandon()
      state.videoQueue?.close()
      state.audioQueue?.close()
      return true
    }
    if !wasStarting { await self.tearDown() }
  }
}

extension LiveStream {
  private func checkStarting() throws(VidiconError) {
    guard self.state.withLock({ $0.phase == .starting }) else { throw .streamStopped }
  }

  private func tearDown() async {
    let stopped = self.state.withLock { state in
      let stopped = state
      state.phase = .ended
      (state.video, state.audio, state.threads, state.attachment) = (nil, nil, [], nil)
      return stopped
    }
    let stop = { @Sendable in
      stopped.videoQueue?.close()
      stopped.audioQueue?.close()
      stopped.video?.stop()
      stopped.audio?.stop()
      for thread in stopped.threads { thread.join() }
      self.shared.renditions.end()
      for rendition in self.renditions { rendition.waitForThread(until: StreamClock.system.now() + .seconds(2)) }
      // Switches end at once; stopping a source that they have started may take time.
      _ = self.switches.wait(until: StreamClock.system.now() + .seconds(2)) { $0 == 0 ? true : nil }
    }
    // Without a thread, blocks the task itself.
    if await WorkerThread.run(named: "stop", stop) == nil { stop() }
    self.endOutputs()
    self.shared.finishEvents()
  }

  private func prepare() throws(VidiconError) {
    let error = self.state.withLock { state -> VidiconError? in
      if state.phase != .idle { return .streamAlreadyStarted }
      if state.video == nil, state.audio == nil { return .streamHasNoSource }
      state.phase = .starting
      if let video = state.video {
        let inputQueue = VideoInputQueue()
        let feed = VideoFeed(capturer: video, inputQueue: inputQueue, adjustment: state.adjustment)
        inputQueue.withSlot { $0.connect(feed) }
        state.videoQueue = inputQueue
      }
      if let audio = state.audio {
        let inputQueue = AudioInputQueue()
        let feed = AudioFeed(capturer: audio, inputQueue: inputQueue)
        inputQueue.withSlot { $0.connect(feed) }
        state.audioQueue = inputQueue
      }
      return nil
    }
    if let error { throw error }
  }

  /// Starts the capturers. One that blocks is given up after the timeout, or when the stream is stopped.
  private func startCapturers() async -> Result<Void, VidiconError> {
    let opening = self.state.withLock { state -> SourceOpening? in
      guard state.phase == .starting else { return nil }
      let opening = SourceOpening(Self.sources(of: state))
      state.firstOpening = opening
      return opening
    }
    guard let opening else { return .failure(.streamStopped) }
    let timeout = self.videoSettings.switchTimeouts.start
    let outcome = await WorkerThread.run(named: "start") { opening.run(timeout: timeout) } ?? nil
    self.state.withLock { $0.firstOpening = nil }
    switch outcome {
    case .opened: return .success(())
    case .failed(let kind, let error):
      self.state.withLock { $0.failedSource = kind }
      return .failure(error)
    case .abandoned(let kind):
      // The opening stops them.
      self.state.withLock { state in
        (state.video, state.audio) = (nil, nil)
        state.failedSource = kind
      }
      guard let kind else { return .failure(.streamStopped) }
      return .failure(
        VidiconError(
          .failed, subject: "\(kind.rawValue) source", cause: "it was not open after \(timeout.seconds) s",
          nextStep: "check that it answers, then try again"))
    case nil: return .failure(.noThread("stream"))
    }
  }

  private static func sources(of state: State) -> [SourceOpening.Source] {
    var sources: [SourceOpening.Source] = []
    if let video = state.video, let feed = state.videoQueue?.currentFeed {
      sources.append(
        SourceOpening.Source(
          kind: .video,
          start: { () throws(VidiconError) in
            try video.start(consumer: feed)
            feed.announce(video.format)
          },
          stop: { video.stop() }))
    }
    if let audio = state.audio, let feed = state.audioQueue?.currentFeed {
      sources.append(
        SourceOpening.Source(
          kind: .audio, start: { () throws(VidiconError) in try audio.start(consumer: feed) }, stop: { audio.stop() }))
    }
    return sources
  }

  private func startVideo() async -> Result<CodecDescription, VidiconError>? {
    guard case (let capturer?, let inputQueue?) = self.state.withLock({ ($0.video, $0.videoQueue) }),
      let feed = inputQueue.withSlot({ $0.current })
    else { return nil }
    // The thread may outlive the capturer.
    let source = capturer.format
    return await self.startPipeline(named: "video") { (started) throws(VidiconError) in
      let pipeline = try VideoPipeline(
        source: source, feed: feed, inputQueue: inputQueue, settings: self.videoSettings, shared: self.shared,
        announce: self.describe, report: self.broadcast, discard: self.discardEarlier, emit: self.broadcast)
      try pipeline.run(started: started)
    }
  }

  private func startAudio() async -> Result<CodecDescription, VidiconError>? {
    guard case (let capturer?, let inputQueue?) = self.state.withLock({ ($0.audio, $0.audioQueue) }),
      let feed = inputQueue.withSlot({ $0.current })
    else { return nil }
    // The thread lives longer than the capturer may.
    let source = capturer.format
    return await self.startPipeline(named: "audio") { (started) throws(VidiconError) in
      let pipeline = try AudioPipeline(
        source: source, feed: feed, inputQueue: inputQueue, settings: self.audioSettings, shared: self.shared,
        emit: self.broadcast)
      started(.aac(pipeline.description))
      try pipeline.run()
    }
  }

  /// Runs a pipeline on a thread of its own and waits until it has started or failed.
  private func startPipeline(
    named name: String,
    _ body: @escaping @Sendable (_ started: (CodecDescription) -> Void) throws(VidiconError) -> Void
  ) async -> Result<CodecDescription, VidiconError> {
    await withCheckedContinuation { continuation in
      let entry: @Sendable (StopSignal) -> Void = { _ in
        var waiting: CheckedContinuation<Result<CodecDescription, VidiconError>, Never>? = continuation
        func answer(_ result: Result<CodecDescription, VidiconError>) {
          waiting?.resume(returning: result)
          waiting = nil
        }
        do throws(VidiconError) {
          try body { answer(.success($0)) }
          answer(.failure(.streamStopped))
        } catch {
          if waiting == nil { self.fail(error) }
          answer(.failure(error))
        }
      }
      let thread = WorkerThread(name: name)
      do throws(VidiconError) {
        try thread.start(entry)
      } catch {
        return continuation.resume(returning: .failure(error))
      }
      self.state.withLock { $0.threads.append(thread) }
    }
  }

  /// Announces the codec configuration of the samples that follow.
  private func describe(_ description: CodecDescription) {
    self.announcements.withLock { _ in
      self.state.withLock { $0.latest[description.kind] = description }
      for output in self.outputs.withLock({ $0 }) ?? [] { output.descriptionChanged(to: description) }
    }
  }

  private func broadcast(_ sample: EncodedSample) {
    for output in self.outputs.withLock({ $0 }) ?? [] {
      output.consume(sample)
    }
    if sample.kind == .audio { self.shared.renditions.consumeAudio(sample) }
  }

  /// Discards frames and segments that outputs have kept.
  func discardEarlier() {
    self.shared.snapshots.discardEarlier()
    self.shared.renditions.discardEarlier()
    for output in self.outputs.withLock({ $0 }) ?? [] { output.discardEarlier() }
  }

  private func broadcast(_ metadata: TimedFrameMetadata) {
    for output in self.outputs.withLock({ $0 }) ?? [] {
      output.consume(metadata)
    }
  }

  /// Ends the outputs after an encoder has failed; the owner stops the stream.
  private func fail(_ error: VidiconError) {
    self.endOutputs()
    self.shared.report(.failed(error))
  }

  private func endOutputs() {
    self.shared.snapshots.streamEnded()
    self.shared.renditions.end()
    let outputs = self.outputs.withLock { $0.take() }
    for output in outputs ?? [] { output.streamEnded() }
  }
}
