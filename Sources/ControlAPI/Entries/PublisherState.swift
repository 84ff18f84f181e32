package import Media
package import Serving

/// Response of `/api/streams/NAME/publisher`: what a publisher sees of its stream, also where watching needs a password. Keys are
/// documented in `openapi.json`.
package struct PublisherState: Codable, Hashable, Sendable {
  package var publisher: PublisherEntry
  /// Current viewers by protocol.
  package var viewers: [String: Int]
  /// In milliseconds; nil without a publisher.
  package var latency: Double?
  package var pages: [String]
  /// nil for clients that are not operators.
  package var token: String?

  /// Describes the publishers of a stream.
  ///
  /// - Parameters:
  ///   - viewers: Current viewers by protocol.
  ///   - latency: In milliseconds, see ``latency(_:encoded:viewers:)``.
  ///   - pages: Addresses of the pages that send a camera.
  ///   - token: Token of publishers; nil for clients that are not operators.
  package init(
    _ publisher: WebRTCPublisherStatistics, viewers: [String: Int], latency: Double?, pages: [String], token: String?
  ) {
    self.publisher = PublisherEntry(publisher)
    self.viewers = viewers
    self.latency = latency
    self.pages = pages
    self.token = token
  }

  /// Estimate of the time after which viewers in real time get what the publisher sends, in milliseconds: half of the publisher's round
  /// trip, the time to the end of the encoding, and half of the mean round trip of viewers over WebRTC.
  package static func latency(
    _ publisher: WebRTCPublisherStatistics, encoded: MediaDuration, viewers: [WebRTCViewerStatistics]
  ) -> Double? {
    guard publisher.isLive, let roundTrip = publisher.roundTrip else { return nil }
    let trips = viewers.compactMap { $0.roundTrip?.seconds }
    let viewing = trips.isEmpty ? 0 : trips.reduce(0, +) / Double(trips.count)
    return ((roundTrip.seconds + viewing) * 500 + max(0, encoded.seconds) * 1000).rounded()
  }
}
