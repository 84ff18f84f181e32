internal import Authentication
internal import Media
internal import Serving
internal import Streaming

/// Response of `/api/streams/NAME/publisher`: what a publisher sees of its stream, also where watching needs a password. Keys are
/// documented in `openapi.json`.
struct PublisherState: Encodable, Sendable {
  var publisher: PublisherEntry
  /// Current viewers by protocol.
  var viewers: [String: Int]
  /// In milliseconds; nil without a publisher.
  var latency: Double?
  var pages: [String]
  /// nil for clients that are not operators.
  var token: String?

  init(
    _ publisher: WebRTCPublisherStatistics, of published: PublishedStream, providers: HTTPServerProviders,
    at now: MediaTime, token: Secret?
  ) {
    let statistics = providers.statistics(published.stream)
    self.publisher = PublisherEntry(publisher)
    self.viewers = published.viewers(with: statistics, at: now)
    self.latency = Self.latency(
      publisher, encoded: published.stream.statistics.videoLatency,
      viewers: statistics.flatMap { $0.statistics.viewerList ?? [] })
    self.pages = providers.addresses(published.stream).publishPages
    self.token = token?.text
  }

  /// Estimate of the time after which viewers in real time get what the publisher sends, in milliseconds: half of the publisher's round
  /// trip, the time to the end of the encoding, and half of the mean round trip of viewers over WebRTC.
  static func latency(
    _ publisher: WebRTCPublisherStatistics, encoded: MediaDuration, viewers: [WebRTCViewerStatistics]
  ) -> Double? {
    guard publisher.isLive, let roundTrip = publisher.roundTrip else { return nil }
    let trips = viewers.compactMap { $0.roundTrip?.seconds }
    let viewing = trips.isEmpty ? 0 : trips.reduce(0, +) / Double(trips.count)
    return ((roundTrip.seconds + viewing) * 500 + max(0, encoded.seconds) * 1000).rounded()
  }
}
