import ControlAPI
import Media
import Recording
import Streaming
import Synchronization

/// The progress of `vidicon record`: on a terminal, a line that is updated each second; elsewhere a line every ten seconds;
/// for programs, one JSON object per line. Where the log has keys and values, it has the files, too.
final class RecordDisplay: Sendable {
  private struct Status: Encodable {
    var event = "status"
    var recording: RecordingEntry
    // Present only with effects; the time is per frame.
    var faces: Int?
    var effectMilliseconds: Double?
    /// Lines of this output lost because the reader was too slow.
    var linesDropped = LineWriter.standardOutput.droppedCount
  }

  private static let secondsBetweenLines = 10
  private let recorder: Recorder
  private let stream: LiveStream
  private let isJSON: Bool
  private let secondsSinceLine = Mutex(0)

  init(_ recorder: Recorder, of stream: LiveStream, isJSON: Bool) {
    (self.recorder, self.stream, self.isJSON) = (recorder, stream, isJSON)
  }

  /// Shows an event of the recording.
  func show(_ event: RecordingEvent) {
    // Not shown here: a failure ends the program, which reports it.
    let isEnd = if case .failed = event { true } else { false }
    if self.isJSON { Terminal.print(json: JSONRecordingEvent(event, of: self.stream.name)) }
    guard !isEnd else { return }
    if !self.isJSON, Terminal.logFormat == .text { event.show() }
    Terminal.log(event.logEvent(of: self.stream.name))
  }

  /// Shows that a snapshot was saved, or why it was not.
  ///
  /// - Parameter folder: Path of the folder that it was to be saved in.
  func showSnapshot(_ result: Result<String, VidiconError>, in folder: String) {
    let name = self.stream.name
    switch result {
    case .success(let path):
      if self.isJSON {
        Terminal.print(json: JSONSnapshot(stream: name, path: path))
      } else if Terminal.logFormat == .text {
        Terminal.print("  Snapshot   \(path)")
      }
      Terminal.log(LogEvent(.snapshotSaved, .notice, stream: name, fields: ["path": path]))
    case .failure(let error): Terminal.log(LogEvent(snapshotFailure: error, in: folder, of: name).about(name))
    }
  }

  /// Shows the progress, unless only a log is written; called each second.
  func showProgress() {
    guard self.isJSON || Terminal.isInteractive || Terminal.logFormat == .text else { return }
    let status = self.recorder.status
    let statistics = self.stream.statistics
    let (drops, effectTime) = (statistics.totalFramesDropped, statistics.effectMilliseconds)
    if self.isJSON {
      var recording = RecordingEntry(withPathOf: status)
      recording.drops = status.samplesDropped + drops
      return Terminal.print(
        json: Status(
          recording: recording, faces: effectTime == nil ? nil : statistics.faces, effectMilliseconds: effectTime))
    }
    let effects = StreamReport.text(effectTime: effectTime, of: statistics).map { "   " + $0 } ?? ""
    let line = "  " + status.progress(drops: drops) + effects
    if Terminal.isInteractive { return Terminal.showStatus([line]) }
    let isDue = self.secondsSinceLine.withLock { seconds in
      seconds = (seconds + 1) % Self.secondsBetweenLines
      return seconds == 0
    }
    if isDue { Terminal.print(line) }
  }
}
