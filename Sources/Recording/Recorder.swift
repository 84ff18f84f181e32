public import Media
public import Streaming
internal import Synchronization
internal import Threading

/// Records a stream into MP4 files, from the samples that its viewers get.
///
/// ```swift
/// let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern("recordings/%F/%H-%M-%S.mp4")))
/// try await recorder.start()
/// recorder.pause()
/// recorder.resume()
/// let files = await recorder.stop()
/// ```
///
/// While it is recorded, a file is a fragmented MP4 that plays up to its last second at any time, also after a crash of
/// the process or the machine; after the stop it is a progressive MP4 with its index first. A pause leaves no gap. When the disk
/// fails or fills, the recording stops and the stream goes on.
///
/// A recorder can be started again when it has stopped. Stop it before it is let go: without it, its last file stays
/// open until the stream ends.
public final class Recorder: Sendable {
  private enum Phase {
    case idle
    case starting
    case recording(RecordingSession)
  }

  /// Where and how files are written.
  public let settings: RecordingSettings
  private let source: RecordingSource
  private let clock: @Sendable () -> Int64
  private let statusStore = RecordingStatusStore()
  private let phase = Mutex(Phase.idle)
  private let isPaused = Mutex(false)
  private let startTime: Mutex<MediaTime?>

  /// A recorder of a stream, which must run when the recording starts.
  public convenience init(_ stream: LiveStream, settings: RecordingSettings) {
    self.init(RecordingSource(stream), settings: settings)
  }

  /// A recorder of a stream that has not been started yet, and whose first recording begins with its first video frame.
  ///
  /// The recording is to be started as soon as the stream runs: until then its samples are held in memory, up to half of
  /// ``RecordingSettings/queueByteCount``; with more it begins as any other.
  public convenience init(beforeStartOf stream: LiveStream, settings: RecordingSettings) {
    let preroll = Preroll(limit: settings.queueByteCount / 2)
    stream.add(preroll)
    self.init(RecordingSource(stream, after: preroll), settings: settings, startTime: MediaTime(nanoseconds: .min))
  }

  /// - Parameters:
  ///   - startTime: When the first recording begins; nil for when it is started.
  ///   - clock: The time of day in nanoseconds since 1970.
  package init(
    _ source: RecordingSource, settings: RecordingSettings, startTime: MediaTime? = nil,
    clock: @escaping @Sendable () -> Int64 = { StreamClock.system.unixTime(at: StreamClock.system.now()) }
  ) {
    self.source = source
    self.settings = settings
    self.startTime = Mutex(startTime)
    self.clock = clock
  }

  /// What happens to the recordings, for one consumer.
  public var events: AsyncStream<RecordingEvent> { self.statusStore.events }

  /// How the recording is doing, or how the last one went.
  public var status: RecordingStatus {
    var status = self.statusStore.status
    if let counts = self.session?.counts {
      status.videoSamplesDropped = counts.videoSamplesDropped
      status.audioSamplesDropped = counts.audioSamplesDropped
      status.queuedByteCount = counts.byteCount
    }
    return status
  }

  /// Whether a pause was requested, and no resumption since; ``status`` follows when the samples before that are written.
  package var isPauseRequested: Bool { self.isPaused.withLock { $0 } }

  /// The files that are there of this recorder's pattern, oldest first. Reads the disk.
  public func files() -> [RecordedFile] {
    RecordedFile.list(matching: self.settings.pattern)
  }

  /// Starts a recording with the next keyframe, which is asked for, and finishes in the background what an earlier crash
  /// has left under names of the pattern.
  ///
  /// - Returns: The path of the first file.
  /// - Throws: ``VidiconError`` when a recording runs already, the stream does not run, or the file cannot be made.
  @discardableResult
  public func start() async throws(VidiconError) -> String {
    let startTime = self.startTime.withLock { $0.take() }
    return try await self.start(at: startTime ?? StreamClock.system.now())
  }

  /// Ends the current run: what is captured from now on is left out. Without effect while paused.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording runs.
  public func pause() throws(VidiconError) {
    try self.pause(at: StreamClock.system.now())
  }

  /// Goes on with the next keyframe, which is asked for. Without effect while not paused.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording runs.
  public func resume() throws(VidiconError) {
    try self.resume(at: StreamClock.system.now())
  }

  /// Pauses a recording that runs, resumes one that is paused.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording runs.
  public func togglePause() throws(VidiconError) {
    if self.isPaused.withLock({ $0 }) { try self.resume() } else { try self.pause() }
  }

  /// Stops the recording with what is captured up to now, and waits until its files are finished.
  ///
  /// - Returns: The finished files; none when no recording runs. Files that could not be finished are reported by
  ///   ``RecordingEvent/partNotFinished(_:)``.
  @discardableResult
  public func stop() async -> [FinishedRecording] {
    await self.stop(at: StreamClock.system.now())
  }

  /// Waits until the recording is over: stopped, failed, as long as its settings say, or with the stream's end.
  ///
  /// - Returns: As ``stop()``.
  @discardableResult
  public func waitUntilEnd() async -> [FinishedRecording] {
    await self.session?.result() ?? []
  }
}

// With times of their own, for tests and measurements.
extension Recorder {
  package func start(at time: MediaTime) async throws(VidiconError) -> String {
    let isFree = self.phase.withLock { phase in
      if case .starting = phase { return false }
      if case .recording(let session) = phase, !session.isOver { return false }
      phase = .starting
      return true
    }
    guard isFree else { throw self.wrongState("a recording runs already", "stop it first") }
    do throws(VidiconError) {
      let descriptions = self.source.descriptions()
      guard !descriptions.isEmpty else {
        throw self.wrongState("the stream does not run", "start it first")
      }
      let session = RecordingSession(
        self.settings, source: self.source, descriptions: descriptions, statusStore: self.statusStore, clock: self.clock
      )
      self.statusStore.update {
        $0 = RecordingStatus()
        $0.state = .waiting
      }
      let path = try await session.start(at: time)
      self.isPaused.withLock { $0 = false }
      self.phase.withLock { $0 = .recording(session) }
      return path
    } catch {
      self.phase.withLock { $0 = .idle }
      self.statusStore.update {
        $0.state = .failed
        $0.error = error
      }
      throw error
    }
  }

  func pause(at time: MediaTime) throws(VidiconError) {
    guard let session = self.runningSession else { throw self.wrongState("no recording runs", "start one") }
    if self.isPaused.exchange(true) == false { session.pause(at: time) }
  }

  func resume(at time: MediaTime) throws(VidiconError) {
    guard let session = self.runningSession else { throw self.wrongState("no recording runs", "start one") }
    if self.isPaused.exchange(false) == true { session.resume(at: time) }
  }

  @discardableResult
  package func stop(at time: MediaTime) async -> [FinishedRecording] {
    await self.session?.stop(at: time) ?? []
  }

  private var session: RecordingSession? {
    self.phase.withLock { if case .recording(let session) = $0 { session } else { nil } }
  }

  private var runningSession: RecordingSession? {
    self.session.flatMap { $0.isOver ? nil : $0 }
  }

  private func wrongState(_ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(.wrongState, path: self.settings.pattern.description, cause: cause, nextStep: nextStep)
  }
}

extension Mutex<Bool> {
  /// Sets the value and returns the one before.
  fileprivate borrowing func exchange(_ value: Bool) -> Bool {
    self.withLock { current in
      defer { current = value }
      return current
    }
  }
}
