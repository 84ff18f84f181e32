internal import Synchronization

/// What the recordings of one recorder share: its events, and the file that was finished last.
final class RecordingReports: Sendable {
  let events: AsyncStream<RecordingEvent>
  private let continuation: AsyncStream<RecordingEvent>.Continuation
  private let finished = Mutex<FileID?>(nil)

  init() {
    (self.events, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
  }

  deinit {
    self.continuation.finish()
  }

  func report(_ event: RecordingEvent) {
    self.continuation.yield(event)
  }

  /// The file that was finished last, by any recording of the recorder; nil before the first.
  var lastFinished: FileID? { self.finished.withLock { $0 } }

  /// Records the file that was finished last.
  func noteFinished(_ id: FileID) {
    self.finished.withLock { $0 = id }
  }
}
