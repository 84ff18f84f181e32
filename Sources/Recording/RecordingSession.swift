internal import Media
internal import Streaming
internal import Synchronization
internal import Threading

/// One recording from start to stop: the stream's output and the writer thread.
final class RecordingSession: StreamOutput {
  private struct State {
    var result: [FinishedRecording]?
    var waiting: [CheckedContinuation<[FinishedRecording], Never>] = []
    var isStarted = false
    /// Whether the last sample is written.
    var hasEnded = false
  }

  private let settings: RecordingSettings
  private let source: RecordingSource
  private let statusStore: RecordingStatusStore
  private let clock: WallClock
  private let queue: RecordingQueue
  private let descriptions: [CodecDescription]
  private let state: Mutex<State>

  /// - Parameters:
  ///   - descriptions: Codec descriptions of the stream, at least one.
  ///   - clock: The time of day, for names and ages of files.
  init(
    _ settings: RecordingSettings, source: RecordingSource, descriptions: [CodecDescription],
    reports: RecordingReports, clock: WallClock
  ) {
    self.settings = settings
    self.source = source
    self.statusStore = RecordingStatusStore(reports)
    self.clock = clock
    self.descriptions = descriptions
    self.queue = RecordingQueue(
      limit: settings.queueByteCount, hasVideo: descriptions.contains { $0.kind == .video })
    self.state = Mutex(State())
  }

  /// Creates the first file, and records samples captured at `time` or later.
  ///
  /// - Returns: The path of the first file.
  func start(at time: MediaTime) async throws(VidiconError) -> String {
    let result: Result<String, VidiconError> = await withCheckedContinuation { continuation in
      let isStarted = WorkerThread.startDetached(named: "recording") {
        self.run { continuation.resume(returning: $0) }
      }
      guard !isStarted else { return }
      self.end(with: [])
      continuation.resume(returning: .failure(.noThread(self.settings.pattern.description)))
    }
    let path = try result.get()
    self.queue.append(.resume(time))
    self.source.add(self)
    // A description may have changed before this output was subscribed.
    for description in self.source.descriptions() { self.descriptionChanged(to: description) }
    return path
  }

  /// Enqueues a command: samples captured before its time precede it.
  func perform(_ command: RecorderMachine.Command) {
    switch command {
    case .pause(let time): self.queue.append(.pause(time))
    case .resume(let time): self.queue.append(.resume(time))
    case .stop(let time): self.queue.append(.stop(time))
    }
  }

  /// Ends a session that has not started.
  func fail(_ error: VidiconError) {
    guard !self.isStarted else { return }
    self.statusStore.update {
      $0.state = .failed
      $0.error = error
    }
    self.end(with: [])
  }

  /// Waits until the recording has ended and its files are finished.
  func result() async -> [FinishedRecording] {
    await withCheckedContinuation { continuation in
      let result = self.state.withLock { state in
        if state.result == nil { state.waiting.append(continuation) }
        return state.result
      }
      if let result { continuation.resume(returning: result) }
    }
  }

  /// Whether the recording has ended and its files are finished.
  var isOver: Bool { self.state.withLock { $0.result != nil } }

  /// Whether no further sample is recorded: stopped, failed, or at its end.
  var hasEnded: Bool { self.state.withLock { $0.hasEnded || $0.result != nil } }

  /// Whether the first file was created.
  var isStarted: Bool { self.state.withLock { $0.isStarted } }

  /// Progress of this recording.
  var status: RecordingStatus {
    var status = self.statusStore.status
    let counts = self.queue.counts
    status.videoSamplesDropped += counts.videoSamplesDropped
    status.audioSamplesDropped += counts.audioSamplesDropped
    status.queuedByteCount = counts.byteCount
    return status
  }

  func consume(_ sample: EncodedSample) {
    self.queue.append(sample)
  }

  func descriptionChanged(to description: CodecDescription) {
    self.queue.append(.change(description))
  }

  func streamEnded() {
    self.queue.append(.end)
  }
}

// MARK: - Writer thread
extension RecordingSession {
  private func run(started: (Result<String, VidiconError>) -> Void) {
    ThreadSignals.blockFileSize()
    let identity = RecordingIdentity(stream: self.source.name, recorder: self.settings.recorderID)
    let maintenance = RecordingMaintenance(
      self.settings, identity: identity, statusStore: self.statusStore, clock: self.clock)
    var writer: RecordingWriter?
    do throws(VidiconError) {
      writer = try RecordingWriter(
        self.settings, identity: identity, descriptions: self.descriptions, statusStore: self.statusStore,
        maintenance: maintenance, requestKeyframe: self.source.requestKeyframe, clock: self.clock)
    } catch {
      self.end(with: [])
      return started(.failure(error))
    }
    let thread = WorkerThread(name: "recordings")
    let hasThread = (try? thread.start { _ in maintenance.run() }) != nil
    maintenance.repair()
    maintenance.tidy()
    self.state.withLock { $0.isStarted = true }
    started(.success(self.statusStore.status.path ?? ""))

    var failure: VidiconError?
    do throws(VidiconError) {
      if let writer { try self.write(with: writer) }
    } catch {
      failure = error
      self.statusStore.report(.failed(error))
    }
    self.source.remove(self)
    self.queue.close()
    self.statusStore.update {
      $0.state = .finishing
      $0.error = failure
    }
    self.state.withLock { $0.hasEnded = true }
    writer?.close()
    // Releases the lock of the last file: a recording that has ended may be repaired or replaced at once.
    writer = nil
    maintenance.tidy()
    maintenance.end()
    // Without a maintenance thread all jobs run here, at the end.
    if hasThread { thread.join() } else { maintenance.run() }
    self.statusStore.update { $0.state = failure == nil ? .idle : .failed }
    self.statusStore.report(.ended)
    self.end(with: maintenance.finished)
  }

  private func write(with writer: RecordingWriter) throws(VidiconError) {
    while !writer.isDone {
      let items = self.queue.take(until: writer.deadline)
      defer { self.queue.release(items) }
      try writer.handle(items, now: StreamClock.system.now())
    }
  }

  private func end(with result: [FinishedRecording]) {
    self.queue.close()
    let waiting = self.state.withLock { state in
      state.result = result
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: result) }
  }
}
