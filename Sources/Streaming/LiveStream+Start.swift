internal import Capture
internal import Codecs
internal import Effects
public import Media
internal import Synchronization
internal import Threading

extension LiveStream {
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
      _ = try await self.startAudio()?.get()
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
      for opening in state.openings { opening.abandon() }
      state.videoQueue?.close()
      state.audioQueue?.close()
      self.shared.effects.cancel()
      return true
    }
    if !wasStarting { await self.tearDown() }
  }
}

// MARK: Threads

extension LiveStream {
  private func checkStarting() throws(VidiconError) {
    guard self.state.withLock({ $0.phase == .starting }) else { throw .streamStopped }
  }

  private func tearDown() async {
    let stopped = self.state.withLock { state in
      let stopped = state
      state.phase = .ended
      (state.video, state.audio, state.threads, state.attachment) = (nil, nil, [], nil)
      (state.standbyVideos, state.openings) = ([], [])
      return stopped
    }
    let stop = { @Sendable in
      for opening in stopped.openings { opening.abandon() }
      stopped.videoQueue?.close()
      stopped.audioQueue?.close()
      self.shared.effects.cancel()
      stopped.video?.stop()
      stopped.audio?.stop()
      for thread in stopped.threads { thread.join() }
      self.shared.renditions.end()
      for rendition in self.shared.renditions.all {
        rendition.waitForThread(until: StreamClock.system.now() + .seconds(2))
      }
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

  /// Starts the capturers, one after the other.
  private func startCapturers() async -> Result<Void, VidiconError> {
    let result = await WorkerThread.run(named: "start") { () -> Result<Void, VidiconError> in
      for kind in [MediaKind.video, .audio] {
        if let error = self.openFirst(kind) { return .failure(error) }
      }
      return .success(())
    }
    return result ?? .failure(.noThread("stream"))
  }

  /// Opens the first source of a kind, where there is one. One that blocks is given up after the timeout, or when the stream is
  /// stopped.
  private func openFirst(_ kind: MediaKind) -> VidiconError? {
    let timeout = self.videoSettings.switchTimeouts.start
    let (isStarting, opening) = self.state.withLock { state -> (Bool, SourceOpening?) in
      guard state.phase == .starting else { return (false, nil) }
      let opening = self.opening(of: kind, in: state)
      if let opening { state.openings.append(opening) }
      return (true, opening)
    }
    guard isStarting else { return .streamStopped }
    guard let opening else { return nil }
    let outcome = opening.run(timeout: timeout)
    switch outcome {
    case .opened: return nil
    case .failed(let error):
      self.state.withLock { $0.failedSource = kind }
      return error
    case .timedOut, .abandoned:
      self.state.withLock { state in
        // The opening stops it, and those after it were not started.
        if kind == .video { state.video = nil }
        state.audio = nil
        if case .timedOut = outcome { state.failedSource = kind }
      }
      if case .abandoned = outcome { return .streamStopped }
      return .sourceNotOpen("\(kind.rawValue) source", after: timeout)
    case nil: return .noThread("stream")
    }
  }

  private func opening(of kind: MediaKind, in state: State) -> SourceOpening? {
    switch kind {
    case .video:
      guard let video = state.video, let feed = state.videoQueue?.currentFeed else { return nil }
      return SourceOpening(of: video, into: feed) { self.finishOpening(video) }
    case .audio:
      guard let audio = state.audio, let feed = state.audioQueue?.currentFeed else { return nil }
      return SourceOpening(of: audio, into: feed) { self.finishOpening(audio) }
    }
  }

  private func startVideo() async -> Result<CodecDescription, VidiconError>? {
    guard case (let capturer?, let inputQueue?) = self.state.withLock({ ($0.video, $0.videoQueue) }),
      let feed = inputQueue.withSlot({ $0.current })
    else { return nil }
    // The thread may outlive the capturer.
    let source = capturer.format
    return await self.startPipeline(named: "video") { (started) throws(VidiconError) in
      let pipeline = try VideoPipeline(
        source: source, feed: feed, inputQueue: inputQueue, settings: self.videoSettings, shared: self.shared)
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
        source: source, feed: feed, inputQueue: inputQueue, settings: self.audioSettings, shared: self.shared)
      self.shared.outputs.announce(.aac(pipeline.description))
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
}
