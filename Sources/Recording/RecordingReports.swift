internal import Synchronization

/// State shared by the recordings of one recorder: its events, its catalog, and the file that was finished last.
final class RecordingReports: Sendable {
  let events: AsyncStream<RecordingEvent>
  private let continuation: AsyncStream<RecordingEvent>.Continuation
  private let finished = Mutex<FileID?>(nil)
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
    self.continuation.yield(event)
  }

  /// The file that was finished last, by any recording of the recorder; nil before the first.
  var lastFinished: FileID? { self.finished.withLock { $0 } }

  /// Records the file that was finished last.
  func noteFinished(_ id: FileID) {
    self.finished.withLock { $0 = id }
  }
}
