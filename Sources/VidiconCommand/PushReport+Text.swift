import Foundation
import Media
import Publishing
import Pushing

extension PushReport {
  /// The part of the status line about a push, such as "push 1 2.31 Mb/s".
  ///
  /// - Parameter sentBitrate: Bits per second that were sent lately.
  func summary(sentBitrate: Double) -> String {
    var parts = ["push \(self.id)"]
    switch self.status.phase {
    case .sending:
      parts.append(String(format: "%.2f Mb/s", sentBitrate / 1e6))
      if self.status.hasOwnEncoding {
        parts.append(String(format: "of its own at %.2f Mb/s", Double(self.status.bitrate) / 1e6))
      }
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
  /// A line for users.
  func line(of stream: String) -> String {
    let subject = "\(stream): push \(self.push) to \(self.address)"
    switch self.kind {
    case .sending: return "\(subject): sending"
    case .stopped: return "\(subject): stopped"
    case .failed(let reason, nil): return "\(subject): \(reason)"
    case .failed(let reason, let time?):
      return "\(subject): \(reason); " + String(format: "again in %.1f s", time.seconds)
    }
  }
}

/// The state of a push in the status of `--json`.
struct JSONPush: Encodable {
  var id: Int
  /// Without the stream key.
  var server: String
  var rendition: String
  var state: String
  /// Bits per second that were sent since the last status.
  var bitrate: Int
  /// Target bitrate of the video.
  var videoBitrate: Int
  var ownEncoding: Bool
  /// Age of the oldest media that has not left, in seconds.
  var queue: Double
  var framesDropped: Int
  var audioFramesDropped: Int
  var reconnects: Int
  var failedAttempts: Int
  var bytesSent: Int
  var lastFailure: String?

  init(_ report: PushReport, sentBitrate: Double) {
    let status = report.status
    self.id = report.id
    self.server = report.address
    self.rendition = report.rendition ?? "main"
    self.state = status.phase.name
    self.bitrate = Int(sentBitrate)
    self.videoBitrate = status.bitrate
    self.ownEncoding = status.hasOwnEncoding
    self.queue = (status.queueAge.seconds * 1000).rounded() / 1000
    self.framesDropped = status.droppedFrames
    self.audioFramesDropped = status.droppedAudioFrames
    self.reconnects = status.reconnects
    self.failedAttempts = status.failedAttempts
    self.bytesSent = status.sentByteCount
    self.lastFailure = status.lastFailure
  }

  /// The event of a change of a push's state.
  struct Event: Encodable {
    var event = "push"
    var stream: String
    var push: Int
    var server: String
    /// `sending`, `failed` or `stopped`.
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
      case .failed(let reason, let time):
        self.state = "failed"
        self.reason = reason
        self.nextAttempt = time.map { ($0.seconds * 10).rounded() / 10 }
      }
    }
  }
}
