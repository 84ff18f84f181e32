import CaptureDevices
import Discovery
import Media
import Recording
import Streaming
import Vidicon

/// How the program tells what it does.
protocol StatusDisplay: Sendable {
  /// Told once the streams are on the network.
  ///
  /// - Parameter choice: What was chosen when no source was asked for; nil when one was.
  func showStart(server: CameraServer, streams: [LiveStream], choice: String?)
  /// Told when the keys of the terminal do something.
  func showKeys(_ hint: String)
  /// Told when a stream has another source.
  func showSource(_ source: String, kind: MediaKind, of stream: String)
  /// Told what a key has done.
  func showKey(_ text: String)
  /// Told when a service can be found on the network, and by which name.
  func showAnnouncement(of service: Service, name: String)
  /// Told each second.
  func showStatus(server: CameraServer, streams: [LiveStream])
  /// Told what happens to the recording of a stream.
  func showRecording(_ event: RecordingEvent, of stream: String)
  /// Told of a picture that was kept.
  func showSnapshot(_ path: String, of stream: String)
  /// Told when everything has been stopped.
  func showEnd()
}

extension StatusDisplay {
  /// Told of a picture that was kept, or could not be.
  func showSnapshot(_ result: Result<String, VidiconError>, of stream: String) {
    switch result {
    case .success(let path): self.showSnapshot(path, of: stream)
    case .failure(let error): Terminal.warn("\(stream): no picture is kept: \(error)")
    }
  }
}

/// The beat of the status display: once a second, without drift.
struct StatusTicker {
  private let clock = ContinuousClock()
  private var beat: ContinuousClock.Instant

  init() {
    self.beat = ContinuousClock().now
  }

  /// Waits for the next beat; false when the task is cancelled.
  mutating func next() async -> Bool {
    self.beat = max(self.beat + .seconds(1), self.clock.now)
    do {
      try await self.clock.sleep(until: self.beat)
      return true
    } catch {
      return false
    }
  }
}
