internal import Media
package import Serving

/// A viewer whose network is measured, element of `webrtcViewers` of ``StreamEntry``. Keys are documented in `openapi.json`.
struct ViewerEntry: Encodable, Sendable {
  private enum Key: CodingKey {
    case keyframesRequested
  }

  /// Maximum number of viewers in a list; `/metrics` has them all.
  static let maximumCount = 100

  let measurements: ViewerMeasurements
  let keyframesRequested: Int

  init(_ viewer: WebRTCViewerStatistics) {
    self.measurements = ViewerMeasurements(viewer)
    self.keyframesRequested = viewer.keyframesRequested
  }

  func encode(to encoder: any Encoder) throws {
    try self.measurements.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.keyframesRequested, forKey: .keyframesRequested)
  }
}

/// A viewer over WebRTC with what is measured of its network, as the HTTP API and the program's status have it in JSON.
package struct ViewerMeasurements: Encodable, Sendable {
  var number: Int
  var rendition: String
  /// In milliseconds; nil before its first report, as the next two.
  var roundTrip: Double?
  var fractionLost: Double?
  /// In bits per second.
  var estimatedBitrate: Int?
  var packetsSent: Int
  var packetsRetransmitted: Int
  var framesSkipped: Int

  /// Rounds the round trip to tenths of a millisecond, and the fraction to three digits.
  package init(_ viewer: WebRTCViewerStatistics) {
    self.number = viewer.number
    self.rendition = viewer.rendition
    self.roundTrip = viewer.roundTrip.map { ($0.seconds * 10_000).rounded() / 10 }
    self.fractionLost = viewer.fractionLost.map { ($0 * 1000).rounded() / 1000 }
    self.estimatedBitrate = viewer.estimatedBitrate
    self.packetsSent = viewer.packetsSent
    self.packetsRetransmitted = viewer.packetsRetransmitted
    self.framesSkipped = viewer.framesSkipped
  }
}
