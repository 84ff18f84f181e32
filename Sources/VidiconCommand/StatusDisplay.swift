import Discovery
import Media
import Recording
import Serving
import Streaming
import Vidicon

/// Output of the program's status.
protocol StatusDisplay: Sendable {
  /// Called when the streams are served.
  ///
  /// - Parameters:
  ///   - choice: The chosen source when none was requested; nil otherwise.
  ///   - access: Facts about access.
  func showStart(server: CameraServer, streams: [LiveStream], choice: String?, access: AccessSummary)
  /// Called when a stream is served that has started later, or again, after the configuration was read again.
  ///
  /// - Parameters:
  ///   - choice: The chosen source when none was requested; nil otherwise.
  ///   - publisher: How publishers send it; nil with another source.
  func showStream(_ stream: LiveStream, server: CameraServer, choice: String?, publisher: PublisherAccess?)
  /// Called by the key that shows the control address; nil when there is none.
  func showControl(_ address: String?)
  /// Called when the keys of the terminal are active.
  func showKeys(_ hint: String)
  /// Called when a stream has another source.
  func showSource(_ source: String, kind: MediaKind, of stream: String)
  /// Called when an effect fails or is slow, also when the search for faces has stalled.
  func showEffect(_ report: EffectReport, of stream: String)
  /// Called with the effect of a key.
  func showKey(_ text: String)
  /// Called when a service is announced, with the name it got.
  func showAnnouncement(of service: Service, name: String)
  /// Called each second.
  func showStatus(server: CameraServer, streams: [LiveStream])
  /// Called with each event of a stream's recording.
  func showRecording(_ event: RecordingEvent, of stream: String)
  /// Called when a snapshot was saved.
  func showSnapshot(_ path: String, of stream: String)
  /// Called with each change of a push's state.
  func showPush(_ event: PushEvent, of stream: String)
  /// Called when everything has stopped.
  func showEnd()
}

extension StatusDisplay {
  /// Shows the report to people.
  func showEffect(_ report: EffectReport, of stream: String) { Terminal.log(LogEvent(report, of: stream)) }

  /// Shows that a snapshot was saved, or why it was not.
  ///
  /// - Parameter folder: Path of the folder that it was to be saved in.
  func showSnapshot(_ result: Result<String, VidiconError>, in folder: String, of stream: String) {
    switch result {
    case .success(let path): self.showSnapshot(path, of: stream)
    case .failure(let error):
      Terminal.log(LogEvent(snapshotFailure: error, in: folder, of: stream))
    }
  }
}

/// A timer of one second without drift, for the status display.
struct StatusTicker {
  private let clock = ContinuousClock()
  private var nextTick: ContinuousClock.Instant

  init() {
    self.nextTick = ContinuousClock().now
  }

  /// Waits for the next second; false when the task is cancelled.
  mutating func next() async -> Bool {
    self.nextTick = max(self.nextTick + .seconds(1), self.clock.now)
    do {
      try await self.clock.sleep(until: self.nextTick)
      return true
    } catch {
      return false
    }
  }
}
