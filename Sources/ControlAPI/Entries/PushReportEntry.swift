internal import Media
package import Pushing

/// The JSON of `/api/streams/NAME/pushes`.
package struct PushList: Codable, Hashable, Sendable {
  /// Pushes of the stream, in the order of its list.
  package var pushes: [PushReportEntry]

  /// Describes the pushes of a stream.
  package init(_ reports: [PushReport]) {
    self.pushes = reports.map(PushReportEntry.init)
  }
}

/// A push as JSON, for the HTTP API and the status of `--json`; has no stream key. `openapi.json` and `docs/configuration.md`
/// document its keys.
package struct PushReportEntry: Codable, Hashable, Sendable {
  package var id: Int
  package var server: String
  package var rendition: String
  /// Name of the ``PushStatus/Phase``.
  package var state: String
  /// Bits per second that were sent during the last second.
  package var bitrate: Int
  /// Target bitrate of the video, in bits per second.
  package var videoBitrate: Int
  package var ownEncoding: Bool
  /// Whether the push waits for an encoding of its own, because the maximum number of encodings is in use.
  package var waitingForEncoding: Bool
  /// Age of the oldest media that has not left, in seconds.
  package var queue: Double
  package var framesDropped: Int
  package var audioFramesDropped: Int
  package var reconnects: Int
  package var failedAttempts: Int
  package var bytesSent: Int
  /// Reason why the last connection or attempt has ended; nil before the first has.
  package var lastFailure: String?
  /// Seconds until the next attempt; nil while none waits.
  package var nextAttempt: Double?

  /// Rounds the age of the queue to milliseconds, and the time of the next attempt to tenths of a second.
  package init(_ report: PushReport) {
    let status = report.status
    self.id = report.id
    self.server = report.address
    self.rendition = report.rendition
    self.state = status.phase.name
    self.bitrate = status.sentBitrate
    self.videoBitrate = status.bitrate
    self.ownEncoding = status.hasOwnEncoding
    self.waitingForEncoding = status.isWaitingForEncoding
    self.queue = (status.queueAge.seconds * 1000).rounded() / 1000
    self.framesDropped = status.droppedFrames
    self.audioFramesDropped = status.droppedAudioFrames
    self.reconnects = status.reconnects
    self.failedAttempts = status.failedAttempts
    self.bytesSent = status.sentByteCount
    self.lastFailure = status.lastFailure
    self.nextAttempt = report.nextAttempt.map { ($0.seconds * 10).rounded() / 10 }
  }
}
