internal import Media
package import Serving

/// A viewer over WebRTC with what is measured of its network, as the HTTP API and the status of `--json` have it. `openapi.json`
/// documents its keys.
package struct ViewerEntry: Codable, Hashable, Sendable {
  /// Maximum number of viewers in a list of the HTTP API; `/metrics` has them all.
  package static let maximumCount = 100

  package var number: Int
  package var rendition: String
  /// In milliseconds; nil before its first report, as the next three.
  package var roundTrip: Double?
  package var fractionLost: Double?
  /// In bits per second.
  package var estimatedBitrate: Int?
  /// In milliseconds; nil also without transport-wide feedback.
  package var queueingDelay: Double?
  package var packetsSent: Int
  package var packetsLost: Int
  package var packetsRetransmitted: Int
  package var framesSkipped: Int
  package var keyframesRequested: Int

  /// Rounds times to tenths of a millisecond, and the fraction to three digits.
  package init(_ viewer: WebRTCViewerStatistics) {
    self.number = viewer.number
    self.rendition = viewer.rendition
    self.roundTrip = viewer.roundTrip.map { ($0.seconds * 10_000).rounded() / 10 }
    self.queueingDelay = viewer.queueingDelay.map { ($0.seconds * 10_000).rounded() / 10 }
    self.fractionLost = viewer.fractionLost.map { ($0 * 1000).rounded() / 1000 }
    self.estimatedBitrate = viewer.estimatedBitrate
    self.packetsSent = viewer.packetsSent
    self.packetsLost = viewer.packetsLost
    self.packetsRetransmitted = viewer.packetsRetransmitted
    self.framesSkipped = viewer.framesSkipped
    self.keyframesRequested = viewer.keyframesRequested
  }
}
