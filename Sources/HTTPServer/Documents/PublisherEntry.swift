internal import Media
package import Serving

/// The WebRTC publishers of a stream, `publisher` of ``StreamEntry``. Keys are documented in `openapi.json`.
struct PublisherEntry: Encodable, Sendable {
  private enum Key: CodingKey {
    case live
  }

  let live: Bool
  let counters: PublisherCounters

  init(_ publisher: WebRTCPublisherStatistics) {
    self.live = publisher.isLive
    self.counters = PublisherCounters(publisher)
  }

  func encode(to encoder: any Encoder) throws {
    try self.counters.encode(to: encoder)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.live, forKey: .live)
  }
}

/// Codecs and counters of a stream's WebRTC publishers, as the HTTP API and the program's status have them in JSON.
package struct PublisherCounters: Encodable, Sendable {
  /// Codecs; nil without a publisher, and without the track.
  var video: String?
  var audio: String?
  /// In milliseconds; nil before it was measured.
  var roundTrip: Double?
  var packetsReceived: Int
  var packetsLost: Int
  var packetsRecovered: Int
  var framesReceived: Int
  var framesDropped: Int
  var keyframesRequested: Int
  var sessionsOpened: Int
  var sessionsReplaced: Int
  var sessionsTakenOver: Int
  var attemptsRefused: Int

  /// Rounds the round trip to tenths of a millisecond.
  package init(_ publisher: WebRTCPublisherStatistics) {
    self.video = publisher.videoCodec
    self.audio = publisher.audioCodec
    self.roundTrip = publisher.roundTrip.map { ($0.seconds * 10_000).rounded() / 10 }
    self.packetsReceived = publisher.packetsReceived
    self.packetsLost = publisher.packetsLost
    self.packetsRecovered = publisher.packetsRecovered
    self.framesReceived = publisher.framesReceived
    self.framesDropped = publisher.framesDropped
    self.keyframesRequested = publisher.keyframesRequested
    self.sessionsOpened = publisher.sessionsOpened
    self.sessionsReplaced = publisher.sessionsReplaced
    self.sessionsTakenOver = publisher.sessionsTakenOver
    self.attemptsRefused = publisher.attemptsRefused
  }
}
