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
///
/// The program, the API and Swift callers control it from any task; the stream's threads pass it samples, which a thread of its own
/// writes.
public final class Recorder: Sendable {
  private struct State: ~Copyable {
    var machine = RecorderMachine()
    /// The current recording, or the last one.
    var session: RecordingSession?
    /// Earlier recordings whose files are being finished.
    var earlier: [RecordingSession] = []

    /// Processes the end of a recording that ended by itself.
    mutating func synchronize() {
      if self.machine.isRunning, self.session?.hasEnded == true { self.machine.ended() }
      self.earlier.removeAll { $0.isOver }
    }
  }

  /// Settings of the written files: names, formats, limits.
  public let settings: RecordingSettings
  private let source: RecordingSource
  private let clock: WallClock
  private let reports: RecordingReports
  private let catalog: RecordingCatalog
  private let state = Mutex(State())
  private let startTime: Mutex<MediaTime?>

  /// Creates a recorder of a stream; the stream must run when the recording starts.
  public convenience init(_ stream: LiveStream, settings: RecordingSettings) {
    self.init(stream.main, settings: settings)
  }

  /// Creates a recorder of a rendition, with the audio of its stream, which must run when the recording starts. While it records, the
  /// rendition is encoded.
  public convenience init(_ rendition: Rendition, settings: RecordingSettings) {
    self.init(RecordingSource(rendition), settings: settings)
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
    self.catalog = RecordingCatalog(
      settings.pattern, of: RecordingIdentity(stream: source.name, recorder: settings.recorderID))
    self.reports = RecordingReports(catalog: self.catalog)
  }

  /// Events of all recordings, for one consumer.
  public var events: AsyncStream<RecordingEvent> { self.reports.events }

  /// Status of the current recording, or of the last one.
  public var status: RecordingStatus {
    let (session, isRunning, finishing) = self.update { state in
      (state.session, state.machine.isRunning, state.earlier.count)
    }
    guard let session else { return RecordingStatus() }
    var status = session.status
    status.file = status.path.map { self.settings.pattern.name(ofFile: $0) }
    let isFinishing = !isRunning && !session.isOver
    if isFinishing { status.state = .finishing }
    status.finishingCount = finishing + (isFinishing ? 1 : 0)
    status.unfinishedPartCount = self.reports.unfinishedPartCount
    return status
  }

  /// Whether a pause was requested and not resumed; ``status`` follows when the samples before the pause are written.
  package var isPauseRequested: Bool { self.update { $0.machine.isPaused } }

  /// Lists the files of this recorder that match its pattern, and those of earlier versions, which do not name their
  /// recorder; oldest first.
  ///
  /// Reads the folders when called first; later only files that have changed. May block.
  public func files() -> [RecordedFile] { self.catalog.files() }

  /// Finds one of ``files()`` without listing a folder. May block.
  ///
  /// - Parameter name: As ``RecordedFile/name``.
  public func file(named name: String) -> RecordedFile? { self.catalog.file(named: name) }

  /// Starts a recording at the next keyframe, which is requested; also while an earlier one finishes its files. Files that an earlier crash left under names of the
  /// pattern are repaired in the background.
  ///
  /// - Returns: The path of the first file.
  /// - Throws: ``VidiconError`` when a recording is running, the stream is not running, the file cannot be created, or the
  ///   recording was stopped meanwhile.
  @discardableResult
  public func start() async throws(VidiconError) -> String {
    try await self.source.prepare()
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

  /// Stops the recording after the last sample captured before the call, and waits until its files are finished.
  ///
  /// - Returns: The finished files; empty when no recording is running. Files that could not be finished are reported
  ///   by ``RecordingEvent/partNotFinished(_:)``.
  @discardableResult
  public func stop() async -> [FinishedRecording] {
    await self.stop(at: StreamClock.system.now())
  }

  /// Stops the recording as ``stop()``, without waiting for its files, which are finished in the background: the status
  /// is ``RecordingStatus/State/finishing``, and another recording can start.
  ///
  /// - Throws: ``VidiconError`` `.wrongState` when no recording is running.
  public func requestStop() throws(VidiconError) {
    guard self.order(stoppingAt: StreamClock.system.now()) else {
      throw self.wrongState("no recording runs", "start one")
    }
  }

  /// Waits until the recording ends: stopped, failed, its configured duration reached, or the stream ended.
  ///
  /// - Returns: The finished files, as ``stop()``.
  @discardableResult
  public func waitUntilEnd() async -> [FinishedRecording] {
    await self.update { $0.session }?.result() ?? []
  }
}

// MARK: - Explicit times, for tests and benchmarks
extension Recorder {
  package func start(at time: MediaTime) async throws(VidiconError) -> String {
    let descriptions = self.source.descriptions()
    let session = RecordingSession(
      self.settings, source: self.source, descriptions: descriptions, reports: self.reports, clock: self.clock)
    while true {
      let (isFree, stopped) = self.update { state -> (Bool, RecordingSession?) in
        guard state.machine.start() else { return (false, state.machine.isRunning ? nil : state.session) }
        if let last = state.session, !last.isOver { state.earlier.append(last) }
        state.session = session
        return (true, nil)
      }
      if isFree { break }
      // One that was stopped while it started ends soon.
      guard let stopped else { throw self.wrongState("a recording runs already", "stop it first") }
      _ = await stopped.result()
    }
    do throws(VidiconError) {
      guard !descriptions.isEmpty else { throw self.wrongState("the stream does not run", "start it first") }
      let path = try await session.start(at: time)
      guard self.perform(commandsFor: session) else {
        throw self.wrongState("the recording was stopped while it started", "start it again")
      }
      return path
    } catch {
      self.update { if $0.session === session, !session.isStarted { $0.machine.ended() } }
      session.fail(error)
      throw error
    }
  }

  /// Passes on the orders that arrived while a session started.
  ///
  /// - Returns: Whether the recording continues.
  private func perform(commandsFor session: RecordingSession) -> Bool {
    self.update { state in
      guard state.session === session else { return false }
      // Under the lock, so that later orders do not overtake them.
      let commands = state.machine.started()
      for command in commands { session.perform(command) }
      return !commands.contains { if case .stop = $0 { true } else { false } }
    }
  }

  func pause(at time: MediaTime) throws(VidiconError) {
    guard self.order({ $0.pause(at: time) }) else { throw self.wrongState("no recording runs", "start one") }
  }

  func resume(at time: MediaTime) throws(VidiconError) {
    guard self.order({ $0.resume(at: time) }) else { throw self.wrongState("no recording runs", "start one") }
  }

  @discardableResult
  package func stop(at time: MediaTime) async -> [FinishedRecording] {
    _ = self.order(stoppingAt: time)
    let (session, earlier) = self.update { ($0.session, $0.earlier) }
    for session in earlier { _ = await session.result() }
    return await session?.result() ?? []
  }

  /// Stops a recording that runs or starts; false when there is none.
  private func order(stoppingAt time: MediaTime) -> Bool {
    self.order { $0.stop(at: time) }
  }

  /// Performs an order; false when it needs a recording that runs.
  private func order(_ decide: (inout RecorderMachine) -> RecorderMachine.Decision) -> Bool {
    self.update { state in
      switch decide(&state.machine) {
      case .refused: return false
      case .nothing: return true
      case .perform(let command):
        // Under the lock, so that the session receives orders in the machine's order.
        state.session?.perform(command)
        return true
      }
    }
  }

  private func update<Result>(_ body: (inout State) -> Result) -> Result {
    self.state.withLock { state in
      state.synchronize()
      return body(&state)
    }
  }

  private func wrongState(_ cause: String, _ nextStep: String) -> VidiconError {
    VidiconError(.wrongState, path: self.settings.pattern.description, cause: cause, nextStep: nextStep)
  }
}
