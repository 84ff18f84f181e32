public import Media

/// Counters of one WebRTC viewer, as of the last second.
public struct WebRTCViewerStatistics: Hashable, Sendable {
  /// Number of the viewer among those of all streams since the start, from 1.
  public var number: Int
  /// Name of the rendition that the viewer gets, `main` for the stream's own; `audio` for audio without video.
  public var rendition: String
  /// Round trip that the last report of the viewer showed; nil before.
  public var roundTrip: MediaDuration?
  /// Fraction of video packets lost between its last two reports, 0 to 1; nil before the first.
  public var fractionLost: Double?
  /// Bits per second that its network carries, as far as known; nil before its first report.
  public var estimatedBitrate: Int?
  /// Time that packets wait in queues of its network; nil before its first transport-wide feedback.
  public var queueingDelay: MediaDuration?
  /// Packets of video that the viewer has missed, by its reports; most of them were then sent again.
  public var packetsLost = 0
  /// Packets sent, with those sent again.
  public var packetsSent = 0
  /// Packets sent again, since the viewer had lost them.
  public var packetsRetransmitted = 0
  /// Frames not sent, because its network was too slow.
  public var framesSkipped = 0
  /// Keyframes that the viewer requested.
  public var keyframesRequested = 0
  /// Reports and requests that were beyond what is read of a viewer in a second.
  public var feedbackDropped = 0
  /// Datagrams that were dropped: not authentic, repeated, malformed, or of an address that the viewer has not proved.
  public var datagramsDropped = 0

  /// Creates the counters of a viewer, all zero.
  public init(number: Int, rendition: String) {
    self.number = number
    self.rendition = rendition
  }
}

/// Reasons why a session ended before media could flow.
public enum WebRTCSessionFailure: String, Hashable, Sendable, CaseIterable {
  /// No check arrived: the client does not reach the addresses that it was given.
  case neverChecked = "never_checked"
  /// Checks arrived, but the connection was not made within 30 s.
  case setupTimedOut = "setup_timed_out"
  /// The client fell silent.
  case consentExpired = "consent_expired"
  /// The certificate is not one that the offer names.
  case wrongFingerprint = "wrong_fingerprint"
  /// DTLS failed, or agreed on no SRTP profile.
  case dtlsFailed = "dtls_failed"
}
