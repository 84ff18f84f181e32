package import Media

/// Counters and state of one viewer's session.
package struct WebRTCSessionStatistics: Hashable, Sendable {
  /// Packets sent, with those sent again.
  package var packetsSent = 0
  /// Bytes of datagrams with media.
  package var bytesSent = 0
  /// Packets sent again, since the client requested them.
  package var packetsRetransmitted = 0
  /// RTCP packets, and requests for packets, that were beyond what a client may send in a second.
  package var feedbackDropped = 0
  /// Frames that were not sent since the first one, because the queue was too old.
  package var framesDropped = 0
  /// Keyframe requests of the client, ignored ones included.
  package var keyframesRequested = 0
  /// The last round trip that the client's reports showed; nil before.
  package var roundTrip: MediaDuration?
  /// Fraction of video packets that were lost between the last two reports, 0 to 1; nil before the first.
  package var fractionLost: Double?
  /// Packets of video that the client has missed since the start, by its reports; it does not fall when one of them comes after all.
  package var packetsLost = 0

  /// Bits per second that the path carries, as far as known; nil before the client's first report.
  package var estimatedBitrate: Int?
  /// Delay of packets in the queues of the path; nil before the first feedback.
  package var queueingDelay: MediaDuration?

  /// Creates counters, all of them zero.
  package init() {}
}
