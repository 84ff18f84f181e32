import Foundation
import Media
import Recording

extension RecordingEvent {
  /// Reports the event to users: files on standard output, problems on standard error.
  func show(of stream: String) {
    switch self {
    case .partStarted(let path): Terminal.print("  Recording  \(path)")
    case .partFinished(let file): Terminal.print("  Recorded   \(file.summary)")
    case .leftover(.failed), .partNotFinished, .failed, .fellBehind, .fileFull, .agesUnknown:
      self.warn(of: stream)
    case .leftover(let repair): Terminal.print("  Repaired   \(repair.summary)")
    case .paused: Terminal.print("  Recording  paused")
    case .resumed: Terminal.print("  Recording  resumed")
    case .removedOld(let path): Terminal.print("  Removed    \(path)")
    case .ended: break
    }
  }

  /// Reports a problem on standard error; nothing for other events.
  func warn(of stream: String) {
    switch self {
    case .leftover(.failed(let error)), .partNotFinished(let error): Terminal.warn("\(stream): \(error)")
    case .failed(let error): Terminal.warn("\(stream): the recording has stopped: \(error)")
    case .fellBehind:
      Terminal.warn("\(stream): the disk is too slow; the recording continues when the disk has caught up")
    case .fileFull(let path):
      Terminal.warn("\(stream): \(path) has the maximum size of a file here; the recording continues in another file")
    case .agesUnknown:
      Terminal.warn("\(stream): the clock is not synchronized, so no recording is removed by age; see timedatectl")
    case .partStarted, .paused, .resumed, .partFinished, .leftover, .removedOld, .ended: break
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
