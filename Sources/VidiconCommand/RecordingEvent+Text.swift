import Foundation
import Media
import Recording

extension RecordingEvent {
  /// Shows files to users, on standard output. Problems are in the log alone, see ``logEvent(of:)``.
  func show() {
    switch self {
    case .partStarted(let path): Terminal.print("  Recording  \(path)")
    case .partFinished(let file): Terminal.print("  Recorded   \(file.summary)")
    case .leftover(.failed), .partNotFinished, .failed, .fellBehind, .fileFull, .agesUnknown, .ended: break
    case .leftover(let repair): Terminal.print("  Repaired   \(repair.summary)")
    case .paused: Terminal.print("  Recording  paused")
    case .resumed: Terminal.print("  Recording  resumed")
    case .removedOld(let path): Terminal.print("  Removed    \(path)")
    }
  }

  /// The event for the log, with a message where it is a problem.
  func logEvent(of stream: String) -> LogEvent {
    switch self {
    case .partStarted(let path): LogEvent(.recordingStarted, .notice, stream: stream, fields: ["path": path])
    case .paused: LogEvent(.recordingPaused, .notice, stream: stream)
    case .resumed: LogEvent(.recordingResumed, .notice, stream: stream)
    case .fellBehind:
      LogEvent(
        .recordingBehind, stream: stream,
        message: "the disk is too slow; the recording continues when the disk has caught up")
    case .fileFull(let path):
      LogEvent(
        .recordingFileFull, stream: stream, fields: ["path": path],
        message: "\(path) has the maximum size of a file here; the recording continues in another file")
    case .partFinished(let file):
      LogEvent(
        .recordingFinished, .notice, stream: stream,
        fields: [
          "path": file.path, "duration": LogEvent.text(of: file.duration), "bytes": "\(file.byteCount)",
        ])
    case .partNotFinished(let error):
      LogEvent(.recordingNotFinished, stream: stream, fields: ["path": error.subject], message: "\(error)")
    case .leftover(.failed(let error)):
      LogEvent(.recordingRepaired, stream: stream, fields: ["path": error.subject], message: "\(error)")
    case .leftover(let repair): LogEvent(.recordingRepaired, .notice, stream: stream, fields: ["path": repair.path])
    case .removedOld(let path): LogEvent(.recordingRemoved, .notice, stream: stream, fields: ["path": path])
    case .agesUnknown:
      LogEvent(
        .recordingAgesUnknown, stream: stream,
        message: "the clock is not synchronized, so no recording is removed by age; see timedatectl")
    case .failed(let error):
      LogEvent(
        .recordingFailed, stream: stream, fields: ["path": error.subject],
        message: "the recording has stopped: \(error)")
    case .ended: LogEvent(.recordingEnded, .notice, stream: stream)
    }
  }
}

extension FinishedRecording {
  /// File, duration and size, such as "clip.mp4   00:01:00   17.2 MB".
  var summary: String {
    "\(self.path)   \(Quantity.text(self.duration))   \(Quantity.text(byteCount: self.byteCount))"
  }
}

extension RecordingStatus {
  /// State, duration and size, such as "recording 00:01:00   17.2 MB"; the end of a stream's status line.
  var summary: String {
    switch self.state {
    case .idle: "not recording"
    case .failed: "recording failed"
    case .waiting, .recording, .paused, .finishing:
      "\(self.state.rawValue) \(Quantity.text(self.duration))   \(Quantity.text(byteCount: self.byteCount))"
    }
  }

  /// Duration, size, bitrate and drops, such as "00:01:00   17.2 MB   2.30 Mb/s   0 dropped".
  ///
  /// - Parameter drops: Frames dropped before the encoder.
  func progress(drops: Int) -> String {
    var parts = [
      Quantity.text(self.duration), Quantity.text(byteCount: self.byteCount),
      String(format: "%.2f Mb/s", Double(self.bitrate) / 1e6), "\(drops + self.samplesDropped) dropped",
    ]
    if self.state != .recording { parts.append(self.state.rawValue) }
    return parts.joined(separator: "   ")
  }
}
