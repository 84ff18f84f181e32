public import Media

/// Counters of a stream's WebRTC publishers since it was first served, as of the last second.
public struct WebRTCPublisherStatistics: Hashable, Sendable {
  /// Whether a publisher sends media.
  public var isLive = false
  /// Codec of its video, `h264` or `vp8`; nil without a publisher, and without video.
  public var videoCodec: String?
  /// Codec of its audio, `opus`; nil without a publisher, and without audio.
  public var audioCodec: String?
  /// Round trip to the publisher; nil before it was measured.
  public var roundTrip: MediaDuration?
  /// Packets of all publishers that arrived, those sent again included.
  public var packetsReceived = 0
  /// Bytes of all publishers that arrived.
  public var bytesReceived = 0
  /// Datagrams that were dropped: not authentic, repeated, malformed, of another payload type than agreed on, of an address that the
  /// publisher has not proved, or reports beyond what is read in a second.
  public var datagramsDropped = 0
  /// Packets that were missing, and never arrived in time.
  public var packetsLost = 0
  /// Packets that were missing, and arrived in time after a request.
  public var packetsRecovered = 0
  /// Frames of video that were complete.
  public var framesReceived = 0
  /// Frames of video that were incomplete, undecodable or too large.
  public var framesDropped = 0
  /// Keyframes that were requested of publishers.
  public var keyframesRequested = 0
  /// Number of sessions that were opened.
  public var sessionsOpened = 0
  /// Sessions that were displaced because they were silent.
  public var sessionsReplaced = 0
  /// Sessions that another publisher took over.
  public var sessionsTakenOver = 0
  /// Attempts that found another publisher live.
  public var attemptsRefused = 0

  /// Creates counters, all of them zero.
  public init() {}
}
