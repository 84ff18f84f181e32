internal import Media
internal import Synchronization

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

  func report(_ event: RecordingEvent) {
    // A file that its owner has moved or removed is not left unfinished.
    if case .partNotFinished(let error) = event, error.code != .notFound {
      self.update { $0.unfinishedPartCount += 1 }
    }
    self.reports.report(event)
  }
}
