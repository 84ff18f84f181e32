import Recording
import Streaming
import Synchronization

/// The progress of `vidicon record`: for people a line that stays up to date on a terminal, elsewhere a new one every ten
/// seconds; for programs a JSON object a line.
final class RecordDisplay: Sendable {
  private struct Status: Encodable {
    var event = "status"
    var recording: JSONRecording.Status
  }

  private static let secondsBetweenLines = 10
  private let recorder: Recorder
  private let stream: LiveStream
  private let isJSON: Bool
  private let secondsSinceLine = Mutex(0)

  init(_ recorder: Recorder, of stream: LiveStream, isJSON: Bool) {
    (self.recorder, self.stream, self.isJSON) = (recorder, stream, isJSON)
  }

  /// Told what happens to the recording.
  func show(_ event: RecordingEvent) {
    // What ends the recording ends the program, which tells it.
    let isEnd = if case .failed = event { true } else { false }
    if self.isJSON { Terminal.print(json: JSONRecording.Event(event, of: self.stream.name)) }
    guard !isEnd else { return }
    if self.isJSON { event.warn(of: self.stream.name) } else { event.show(of: self.stream.name) }
  }

  /// Told each second.
  func showProgress() {
    let status = self.recorder.status
    let drops = self.stream.statistics.framesDroppedInAll
    if self.isJSON {
      var recording = JSONRecording.Status(status)
      recording.dropped += drops
      return Terminal.print(json: Status(recording: recording))
    }
    let line = "  " + status.progress(drops: drops)
    if Terminal.isInteractive { return Terminal.showStatus([line]) }
    let isDue = self.secondsSinceLine.withLock { seconds in
      seconds = (seconds + 1) % Self.secondsBetweenLines
      return seconds == 0
    }
    if isDue { Terminal.print(line) }
  }
}
