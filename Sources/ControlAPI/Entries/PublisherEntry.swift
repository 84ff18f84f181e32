internal import Media
package import Serving

/// Codecs and counters of a stream's WebRTC publishers, as the HTTP API and the status of `--json` have them. `openapi.json` documents
/// its keys.
package struct PublisherEntry: Codable, Hashable, Sendable {
  /// Whether a publisher sends media.
  package var live: Bool
  /// Codecs; nil without a publisher, and without the track.
  package var video: String?
  package var audio: String?
  /// In milliseconds; nil before it was measured.
  package var roundTrip: Double?
  package var packetsReceived: Int
  package var datagramsDropped: Int
  package var packetsLost: Int
  package var packetsRecovered: Int
  package var framesReceived: Int
  package var framesDropped: Int
  package var keyframesRequested: Int
  package var sessionsOpened: Int
  package var sessionsReplaced: Int
  package var sessionsTakenOver: Int
  package var attemptsRefused: Int

  /// Rounds the round trip to tenths of a millisecond.
  package init(_ publisher: WebRTCPublisherStatistics) {
    self.live = publisher.isLive
    self.video = publisher.videoCodec
    self.audio = publisher.audioCodec
    self.roundTrip = publisher.roundTrip.map { ($0.seconds * 10_000).rounded() / 10 }
    self.packetsReceived = publisher.packetsReceived
    self.datagramsDropped = publisher.datagramsDropped
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
