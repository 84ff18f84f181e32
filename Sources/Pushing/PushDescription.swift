internal import Media

/// A push as JSON, for the HTTP API and the status of `--json`; has no stream key. `openapi.json` and `docs/configuration.md`
/// document its keys.
package struct PushDescription: Encodable, Sendable {
  var id: Int
  var server: String
  var rendition: String
  /// Name of the ``PushStatus/Phase``.
  var state: String
  /// Bits per second that were sent during the last second.
  var bitrate: Int
  /// Target bitrate of the video, in bits per second.
  var videoBitrate: Int
  var ownEncoding: Bool
  /// Whether the push waits for an encoding of its own, because the maximum number of encodings is in use.
  var waitingForEncoding: Bool
  /// Age of the oldest media that has not left, in seconds.
  var queue: Double
  var framesDropped: Int
  var audioFramesDropped: Int
  var reconnects: Int
  var failedAttempts: Int
  var bytesSent: Int
  /// Reason why the last connection or attempt has ended; nil before the first has.
  var lastFailure: String?
  /// Seconds until the next attempt; nil while none waits.
  var nextAttempt: Double?

  /// Describes a push.
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
