import Foundation
import Media
import Pushing
import Serving

extension PushReport {
  /// The part of the status line about a push, such as "push 1 2.31 Mb/s".
  var summary: String {
    var parts = ["push \(self.id)"]
    switch self.status.phase {
    case .sending:
      parts.append(String(format: "%.2f Mb/s", Double(self.status.sentBitrate) / 1e6))
      if self.status.hasOwnEncoding {
        parts.append(String(format: "of its own at %.2f Mb/s", Double(self.status.bitrate) / 1e6))
      }
      if self.status.isWaitingForEncoding { parts.append("waits for an encoding") }
      if self.status.queueAge >= .milliseconds(500) {
        parts.append(String(format: "%.1f s behind", self.status.queueAge.seconds))
      }
    case .waiting: parts.append(String(format: "again in %.0f s", self.nextAttempt?.seconds.rounded(.up) ?? 0))
    case .connecting, .stopped: parts.append(self.status.phase.name)
    }
    if self.status.droppedFrames > 0 { parts.append("\(self.status.droppedFrames) dropped") }
    if self.status.reconnects > 0 { parts.append("\(self.status.reconnects) reconnects") }
    return parts.joined(separator: " ")
  }
}

extension PushEvent {
  /// The event for the log, with a message.
  func logEvent(of stream: String) -> LogEvent {
    let subject = "push \(self.push) to \(self.address)"
    let (name, priority, state): (LogEvent.Name, LogPriority, String) =
      switch self.kind {
      case .sending: (.pushSending, .notice, "sending")
      case .waitingForEncoding(let bitrate):
        (
          .pushWaiting, .notice,
          "no encoding of its own is free; "
            + String(format: "it gets the stream at %.2f Mb/s until one is", Double(bitrate) / 1e6)
        )
      case .stopped: (.pushStopped, .notice, "stopped")
      case .failed(let reason, nil): (.pushFailed, .warning, reason)
      case .failed(let reason, let time?):
        (.pushFailed, .warning, "\(reason); " + String(format: "again in %.1f s", time.seconds))
      }
    return LogEvent(
      name, priority, stream: stream, fields: ["push": "\(self.push)", "server": self.address],
      message: "\(subject): \(state)")
  }
}

/// The event of `--json` for a change of a push's state.
struct JSONPushEvent: Encodable {
  var event = "push"
  var stream: String
  var push: Int
  var server: String
  /// `sending`, `waitingForEncoding`, `failed` or `stopped`.
  var state: String
  var reason: String?
  /// Seconds until the next attempt; nil when none follows.
  var nextAttempt: Double?

  init(_ event: PushEvent, of stream: String) {
    self.stream = stream
    self.push = event.push
    self.server = event.address
    switch event.kind {
    case .sending: self.state = "sending"
    case .stopped: self.state = "stopped"
    case .waitingForEncoding: self.state = "waitingForEncoding"
    case .failed(let reason, let time):
      self.state = "failed"
      self.reason = reason
      self.nextAttempt = time.map { ($0.seconds * 10).rounded() / 10 }
    }
  }
}
