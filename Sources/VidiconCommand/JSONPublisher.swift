import HTTPServer
import Serving

/// The publishers of a stream over WebRTC, in the status as JSON.
struct JSONPublisher: Encodable {
  private enum Key: CodingKey {
    case isLive
  }

  let isLive: Bool
  let counters: PublisherCounters

  init(_ publisher: WebRTCPublisherStatistics) {
    self.isLive = publisher.isLive
    self.counters = PublisherCounters(publisher)
  }

  func encode(to encoder: any Encoder) throws {
    try self.counters.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.isLive, forKey: .isLive)
  }
}
