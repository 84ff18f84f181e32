public import Media
internal import Synchronization

/// An event of a recording, in order of occurrence.
public enum RecordingEvent: Hashable, Sendable {
  /// A part begins in a new file.
  case partStarted(path: String)
  /// The recording is paused; the samples before the pause are on disk.
  case paused
  /// The recording resumes at the next keyframe.
  case resumed
  /// The disk was too slow and samples were dropped; the recording resumes at the next keyframe, as after a pause.
  case fellBehind
  /// A file has the maximum size that its disk or the process allows (4 GiB on FAT, `ulimit -f`); the recording continues in
  /// another one.
  case fileFull(path: String)
  /// A part has become a progressive MP4 file.
  case partFinished(FinishedRecording)
  /// A part stays a fragmented MP4 file, which plays and can be repaired.
  case partNotFinished(VidiconError)
  /// A file left by an earlier crash was found; the value is the outcome of its repair.
  case leftover(Recordings.Repair)
  /// A file was removed by the retention rule.
  case removedOld(path: String)
  /// No file is removed by age, since the machine's clock is not synchronized by a time service; reported once per
  /// recording.
  case agesUnknown
  /// The recording stopped because of an error; the stream continues, and what was written is kept.
  case failed(VidiconError)
  /// The recording has ended, and its files are finished.
  case ended
}

/// State shared by the recordings of one recorder: its events, its catalog, the file that was finished last, and those that
/// could not be finished.
final class RecordingReports: Sendable {
  let events: AsyncStream<RecordingEvent>
  private let continuation: AsyncStream<RecordingEvent>.Continuation
  private let finished = Mutex<FileID?>(nil)
  /// Paths of the parts that could not be finished.
  private let unfinished = Mutex<Set<String>>([])
  private let catalog: RecordingCatalog?

  /// - Parameter catalog: Is informed of files that are created, finished or removed.
  init(catalog: RecordingCatalog? = nil) {
    self.catalog = catalog
    (self.events, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
  }

  deinit {
    self.continuation.finish()
  }

  func report(_ event: RecordingEvent) {
    switch event {
    case .partStarted(let path), .removedOld(let path), .leftover(.removedEmpty(let path)): self.catalog?.note(path)
    case .partFinished(let file), .leftover(.finished(let file)): self.catalog?.note(file.path)
    default: break
    }
    switch event {
    // A file that its owner has moved or removed is not left unfinished.
    case .partNotFinished(let error) where error.code != .notFound:
      self.unfinished.withLock { _ = $0.insert(error.subject) }
    case .leftover(.finished(let file)): self.unfinished.withLock { _ = $0.remove(file.path) }
    case .leftover(.removedEmpty(let path)): self.unfinished.withLock { _ = $0.remove(path) }
    default: break
    }
    self.continuation.yield(event)
  }

  /// Number of parts, of all recordings of the recorder, that could not be finished and were not repaired since.
  var unfinishedPartCount: Int { self.unfinished.withLock { $0.count } }

  /// The file that was finished last, by any recording of the recorder; nil before the first.
  var lastFinished: FileID? { self.finished.withLock { $0 } }

  /// Records the file that was finished last.
  func noteFinished(_ id: FileID) {
    self.finished.withLock { $0 = id }
  }
}

/// Status of one recording, written by its threads and read by its recorder.
final class RecordingStatusStore: Sendable {
  /// Events and results of all recordings of the recorder.
  let reports: RecordingReports
  private let current: Mutex<RecordingStatus>

  init(_ reports: RecordingReports) {
    self.reports = reports
    var status = RecordingStatus()
    status.state = .waiting
    self.current = Mutex(status)
  }

  var status: RecordingStatus { self.current.withLock { $0 } }

  func update(_ body: (inout RecordingStatus) -> Void) {
    self.current.withLock { body(&$0) }
  }

  func report(_ event: RecordingEvent) { self.reports.report(event) }
}
