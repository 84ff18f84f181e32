public import Media
public import Streaming
internal import Synchronization
package import Threading

/// Records a stream into MP4 files, from the same encoded samples that viewers receive.
///
/// ```swift
/// let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern("recordings/%F/%H-%M-%S.mp4")))
/// try await recorder.start()
/// recorder.pause()
/// recorder.resume()
/// let files = await recorder.stop()
/// ```
///
/// While it is recorded, a file is a fragmented MP4 that plays up to its last second at any time, also after a crash
/// of the process or the machine; stopping converts it to a progressive MP4 with its index first. A pause leaves no
/// gap. When the disk fails or fills, the recording stops and the stream continues.
///
/// A stopped recorder can be started again. Stop a recorder before releasing it: otherwise its last file stays open
/// until the stream ends.
public final class Recorder: Sendable {
  private enum Phase {
    case idle
    case starting
    case recording(RecordingSession)
  }

  /// Where and how files are written.
  public let settings: RecordingSettings
  private let source: RecordingSource
  private let clock: WallClock
  private let statusStore = RecordingStatusStore()
  private let phase = Mutex(Phase.idle)
  private let isPaused = Mutex(false)
  private let startTime: Mutex<MediaTime?>

  /// Creates a recorder of a stream; the stream must run when the recording starts.
  public convenience init(_ stream: LiveStream, settings: RecordingSettings) {
    self.init(RecordingSource(stream), settings: settings)
  }

  /// Creates a recorder of a stream that has not been started, so that the first recording contains the first video
  /// frame.
  ///
  /// Start the recording as soon as the stream runs: until then samples are retained in memory, up to half of
  /// ``RecordingSettings/queueByteCount``; beyond it the recording begins at the next keyframe.
  public convenience init(beforeStartOf stream: LiveStream, settings: RecordingSettings) {
    let preroll = Preroll(limit: settings.queueByteCount / 2)
    stream.add(preroll)
    self.init(RecordingSource(stream, after: preroll), settings: settings, startTime: MediaTime(nanoseconds: .min))
  }

  /// - Parameters:
  ///   - startTime: Start of the first recording; nil for the time of ``start()``.
  ///   - clock: The time of day, for names and ages of files.
  package init(
    _ source: RecordingSource, settings: RecordingSettings, startTime: MediaTime? = nil,
    clock: WallClock = .system
  ) {
    self.source = source
    self.settings = settings
    self.startTime = Mutex(startTime)
    self.clock = clock
  }

  /// Events of all recordings, for one consumer.
  public var events: AsyncStream<RecordingEvent> { self.statusStore.events }

  /// Status of the current recording, or of the last one.
  public var status: RecordingStatus {
    var status = self.statusStore.status
    if let counts = self.session?.counts {
      status.videoSamplesDropped = counts.videoSamplesDropped
      status.audioSamplesDropped = counts.audioSamplesDropped
      status.queuedByteCount = counts.byteCount
    }
    return status
  }

  /// Whether a pause was requested and not resumed; ``status`` follows when the samples before the pause are written.
  package var isPauseRequested: Bool { self.isPaused.withLock { $0 } }

  /// Lists the files of this recorder that match its pattern, and those of earlier versions, which do not name their
  /// recorder; oldest first. Reads the disk.
  public func files() -> [RecordedFile] {
    RecordedFile.list(matching: self.settings.pattern, of: self.identity)
  }

  /// Starts a recording at the next keyframe, which is requested. Files that an earlier crash left under names of the
  /// pattern are repaired in the background.
  ///
  /// - Returns: The path of the first file.
  /// - Throws: ``VidiconError`` when a recording is running, the stream is not running, or the file cannot be created.
  @discardableResult
  public func start() async throws(VidiconError) -> String {
    let startTime = self.startTime.withLock { $0.take() }
    return try await self.start(at: startTime ?? StreamClock.system.now())
  }

  /// Pauses the recording: samples captured from now on are left out. No effect while paused.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording is running.
  public func pause() throws(VidiconError) {
    try self.pause(at: StreamClock.system.now())
  }

  /// Resumes at the next keyframe, which is requested. No effect unless paused.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording is running.
  public func resume() throws(VidiconError) {
    try self.resume(at: StreamClock.system.now())
  }

  /// Pauses a running recording, or resumes a paused one.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording is running.
  public func togglePause() throws(VidiconError) {
    if self.isPaused.withLock({ $0 }) { try self.resume() } else { try self.pause() }
  }

  /// Stops the recording after the last sample captured before the call, and waits until its files are finished.
  ///
  /// - Returns: The finished files; empty when no recording is running. Files that could not be finished are reported
  ///   by ``RecordingEvent/partNotFinished(_:)``.
  @discardableResult
  public func stop() async -> [FinishedRecording] {
    await self.stop(at: StreamClock.system.now())
  }

  /// Waits until the recording ends: stopped, failed, its configured duration reached, or the stream ended.
  ///
  /// - Returns: The finished files, as ``stop()``.
  @discardableResult
  public func waitUntilEnd() async -> [FinishedRecording] {
    await self.session?.result() ?? []
  }
}

// MARK: - Explicit times, for tests and benchmarks
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

  private var identity: RecordingIdentity {
    RecordingIdentity(stream: self.source.name, recorder: self.settings.recorderID)
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
  /// Sets the value and returns the previous one.
  fileprivate borrowing func exchange(_ value: Bool) -> Bool {
    self.withLock { current in
      defer { current = value }
      return current
    }
  }
}
