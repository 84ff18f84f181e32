package import Media
package import NIOCore
package import RTP

/// The session of one viewer, or of a push to a server: what it is sent, and what follows from its reports. Pure: time is an
/// argument, and datagrams are values.
///
/// ```
///   datagrams, timeouts, media ──▶ change of state ──▶ drain(into:at:) ──▶ datagrams
///                                        └──▶ events
/// ```
///
/// The caller changes the state, then drains, then waits for input or ``nextDeadline``. Video starts at a keyframe, and starts
/// again at one after frames were left out. Audio precedes retransmissions, and those precede video.
///
/// What the client reports of its path decides how frames leave: at once while it carries much more than the media has, else
/// spread over time by the ``Pacer``.
package struct WebRTCSession {
  /// Consequence of a changed state for the caller.
  package enum Event: Hashable, Sendable {
    /// Datagrams of an address belong to this session unless another one has proved it: the client has checked from there.
    case checked(TransportAddress)
    /// Datagrams of an address belong to this session: the client has proved that it receives there. Repeated with each proof.
    case valid(TransportAddress)
    /// Datagrams of an address do not belong to this session any more.
    case invalid(TransportAddress)
    /// Media can be sent: the client is to be given the stream's.
    case ready(SRTPProfile)
    /// The client needs a keyframe.
    case keyframeNeeded
    /// The session has ended; nothing follows.
    case closed(WebRTCTransport.CloseReason)
  }

  /// Media or a packet that waits in the pacer.
  enum Item {
    /// An access unit or audio frame.
    case media(WebRTCMedia)
    /// A packet that is sent again, with the number of the original.
    case retransmission(WebRTCMedia, index: Int, number: UInt16)
    /// A sealed packet that is sent again, for a client without a source of retransmissions.
    case sealedPacket(ByteBuffer)
  }

  /// Interval between two sender reports of each track.
  package static let reportInterval = MediaDuration.seconds(1)
  /// Interval at which the pace is adjusted, and probes are started.
  static let updateInterval = MediaDuration.milliseconds(100)
  /// Maximum number of bytes retransmitted beyond half of the bytes sent: requests of a client cannot multiply its traffic.
  static let maximumRetransmissionCredit = 512 * 1024
  /// Number of round-trip times whose minimum counts as that of an empty path.
  static let roundTripCount = 10
  /// Bounds of the estimate in bits per second.
  static let estimateBounds = 100_000...100_000_000
  /// First estimate in bits per second: frames are not spread until a client's reports show that its path is slow.
  static let firstEstimate = 10_000_000

  var transport: WebRTCTransport
  var video: WebRTCTrackSender?
  var audio: WebRTCTrackSender?
  /// Nanoseconds since 1970 at zero of the stream's clock, read once: clients measure with differences of the reports' times.
  let unixTimeAtZero: Int64
  /// Estimates what the path carries; numbers the packets with transport-wide numbers.
  var estimator = BandwidthEstimator(bitrate: Self.firstEstimate, bounds: Self.estimateBounds)
  /// Media and retransmissions that wait.
  var pacer = Pacer<Item>()
  var demand = WebRTCDemand()
  /// Presentation time of the last access unit that was queued.
  private var lastVideoTime: MediaTime?
  /// A little more than a tick of the clock of video, 90 kHz.
  private static let timestampStep = MediaDuration(nanoseconds: 11_112)

  var responses: [(datagram: ByteBuffer, address: TransportAddress)] = []
  var events = CircularBuffer<Event>(initialCapacity: 4)
  var retransmissionCredit = Self.maximumRetransmissionCredit
  var isReady = false
  var profile: SRTPProfile?
  var lastKeyframe: MediaTime?
  var keyframeRequests = KeyframeRequestLimiter()
  /// Whether the video has keyframes that are not requested, between the few that a viewer may request.
  package var hasRegularKeyframes = true {
    didSet {
      guard self.hasRegularKeyframes != oldValue else { return }
      self.keyframeRequests = KeyframeRequestLimiter()
      if !self.hasRegularKeyframes { self.keyframeRequests.interval = KeyframeRequestLimiter.soleInterval }
    }
  }
  var lastFullIntraRequest: UInt8?
  /// RTCP packets that are looked at.
  var packetBudget = TokenBucket(rate: 400)
  /// Packets that a client may request again: more than libwebrtc keeps numbers of lost ones.
  var requestBudget = TokenBucket(rate: 2_000)
  /// Packets that transport-wide feedback may cover: some 100 Mb/s.
  var arrivalBudget = TokenBucket(rate: 20_000)
  var nextReport: MediaTime?
  var nextUpdate: MediaTime?
  /// Bytes sent until the last receiver report, and its time.
  var lastReceiverReport: (bytesSent: Int, time: MediaTime)?
  /// Frames of ``Pacer/dropCounts`` that the statistics have.
  var countedDrops = 0
  /// The last round trips.
  var recentRoundTrips: [MediaDuration] = []
  /// The client's last reference time (XR), and when it arrived.
  var referenceTime: (ssrc: UInt32, middle: UInt32, arrival: MediaTime)?
  /// Counters, and what the client reports.
  package internal(set) var statistics = WebRTCSessionStatistics()

  /// Creates the session of an answered offer.
  ///
  /// - Parameters:
  ///   - answer: The answer, with the client's transport.
  ///   - credentials: The server's ICE credentials, as answered.
  ///   - client: The client's ICE credentials, as offered.
  ///   - number: Number of the session among those that share a port.
  ///   - makeRandom: Makes 64 random bits, for numbers, timestamps and checks.
  ///   - unixTime: Converts a time of the stream's clock to nanoseconds since 1970; called once, so that no report steps with
  ///     the machine's clock.
  package init(
    _ answer: WebRTCAnswer, credentials: ICECredentials, client: ICECredentials, number: UInt32 = 0,
    security: any DatagramSecurity, makeRandom: @escaping @Sendable () -> UInt64, unixTime: (MediaTime) -> Int64,
    at now: MediaTime
  ) {
    self.transport = WebRTCTransport(
      credentials: credentials, client: client, number: number, fingerprints: answer.clientTransport.fingerprints,
      role: answer.role, security: security, makeRandom: makeRandom, at: now)
    self.video = answer.video.map { WebRTCTrackSender($0, kind: .video, makeRandom: makeRandom) }
    self.audio = answer.audio.map { WebRTCTrackSender($0, kind: .audio, makeRandom: makeRandom) }
    self.unixTimeAtZero = unixTime(.zero)
  }

  /// Creates the session of a push, whose offer a server has answered; its first check is due at once.
  ///
  /// - Parameters:
  ///   - credentials: Our ICE credentials, as offered.
  ///   - makeRandom: Makes 64 random bits, for numbers, timestamps and checks.
  ///   - unixTime: Converts a time of the stream's clock to nanoseconds since 1970; called once.
  package init(
    _ answer: WebRTCPushAnswer, credentials: ICECredentials, security: any DatagramSecurity,
    makeRandom: @escaping @Sendable () -> UInt64, unixTime: (MediaTime) -> Int64, at now: MediaTime
  ) {
    self.transport = WebRTCTransport(
      answer, credentials: credentials, security: security, makeRandom: makeRandom, at: now)
    self.video = answer.video.map { WebRTCTrackSender($0, kind: .video, makeRandom: makeRandom) }
    self.audio = answer.audio.map { WebRTCTrackSender($0, kind: .audio, makeRandom: makeRandom) }
    self.unixTimeAtZero = unixTime(.zero)
  }

  /// Whether a video track was answered.
  package var hasVideo: Bool { self.video != nil }

  /// Packetization mode of the payload type that was answered for H.264; mode 1 without video.
  package var packetizationMode: H264PacketizationMode { self.video?.track.decoder?.mode ?? .nonInterleaved }

  /// Whether the client decodes H.264 of a profile, level and packetization mode in the payload type that was answered.
  package func decodes(_ stream: H264ProfileLevel, _ mode: H264PacketizationMode = .nonInterleaved) -> Bool {
    self.video?.track.decoder?.decodes(stream, mode) ?? false
  }

  /// Whether an audio track was answered.
  package var hasAudio: Bool { self.audio != nil }

  /// Number of the client's authentic checks.
  package var checkCount: Int { self.transport.checkCount }

  /// Destination of media; nil before the client's nomination, or its handshake.
  package var selectedAddress: TransportAddress? { self.transport.selectedAddress }

  /// Number of datagrams dropped since the start of the session, by cause.
  package var dropCounts: WebRTCTransport.DropCounts { self.transport.dropCounts }

  /// Time at which ``handleTimeout(at:)`` and ``drain(into:at:)`` are due; nil after the end.
  ///
  /// Callers outside this module copy the session to read this: ``handleTimeoutIfDue(at:)`` does not.
  @inline(__always)
  package var nextDeadline: MediaTime? {
    guard var deadline = self.transport.nextDeadline else { return nil }
    if let nextReport { deadline = min(deadline, nextReport) }
    if let nextUpdate { deadline = min(deadline, nextUpdate) }
    if let nextSending { deadline = min(deadline, nextSending) }
    return deadline
  }

  /// Time at which ``drain(into:at:)`` has more to send; nil while nothing waits for its time.
  @inline(__always)
  private var nextSending: MediaTime? {
    self.isReady && self.transport.selectedAddress != nil ? self.pacer.nextDeadline : nil
  }

  /// Removes and returns the oldest event; nil when all were returned.
  package mutating func nextEvent() -> Event? { self.events.popFirst() }

  /// Processes a datagram of the session, whatever its protocol.
  package mutating func handle(_ datagram: ByteBuffer, from source: TransportAddress, at now: MediaTime) {
    self.apply(self.transport.handle(datagram, from: source, at: now), at: now)
  }

  /// Does what is due at ``nextDeadline``.
  package mutating func handleTimeout(at now: MediaTime) {
    self.apply(self.transport.handleTimeout(at: now), at: now)
    guard self.isReady else { return }
    if let nextUpdate, now >= nextUpdate { self.update(at: now) }
    guard let due = self.nextReport, now >= due else { return }
    self.nextReport = now + Self.reportInterval
    self.sendReport(at: now)
  }

  /// Does what is due at ``nextDeadline``, when that has come.
  ///
  /// - Returns: Whether something was due: then ``drain(into:at:)`` follows.
  package mutating func handleTimeoutIfDue(at now: MediaTime) -> Bool {
    guard let deadline = self.nextDeadline, now >= deadline else { return false }
    self.handleTimeout(at: now)
    return true
  }

  /// Restarts ICE with new credentials of both sides, RFC 8445 §9; keys and media stay.
  package mutating func restart(credentials: ICECredentials, client: ICECredentials, at now: MediaTime) {
    self.transport.restart(credentials: credentials, client: client, at: now)
  }

  /// Ends the session, and notifies the client.
  package mutating func close(at now: MediaTime) {
    self.apply(self.transport.close(), at: now)
  }

  /// Queues an access unit or audio frame.
  package mutating func send(_ media: WebRTCMedia, at now: MediaTime) {
    guard (media.kind == .video ? self.video : self.audio) != nil, self.isReady else { return }
    guard self.transport.selectedAddress != nil else {
      // Without consent. Video goes on at a keyframe.
      self.switchRendition()
      return
    }
    guard media.kind == .video else {
      self.pacer.enqueue(
        .media(media), .audio, byteCount: media.byteCount, packetCount: media.packetCount, at: now)
      return
    }
    var media = media
    // The keyframe of another rendition may be of the frame that was sent last: players take one access unit per timestamp.
    if let lastVideoTime, media.presentationTime <= lastVideoTime {
      media = media.moved(to: lastVideoTime + Self.timestampStep)
    }
    if self.pacer.needsKeyframe, !media.isKeyframe {
      // Before the first keyframe, nothing is missed.
      if self.lastKeyframe != nil { self.statistics.framesDropped += 1 }
      self.requestKeyframe(at: now)
      return
    }
    self.pacer.enqueue(
      .media(media), .video(isKeyframe: media.isKeyframe),
      byteCount: media.byteCount + media.packetCount * Self.packetOverhead, packetCount: media.packetCount, at: now)
    self.lastVideoTime = media.presentationTime
    if media.isKeyframe {
      self.lastKeyframe = now
      self.keyframeRequests.handleKeyframe()
    }
    self.countDrops(at: now)
  }

  /// Drops frames that wait and those that could be sent again: they must not be shown any more.
  package mutating func discardEarlier(at now: MediaTime) {
    self.video?.history.removeAll()
    self.video?.sealedHistory?.removeAll()
    self.pacer.discard()
    self.countDrops(at: now)
  }

  /// Drops frames that wait: those of another rendition follow, from a keyframe on. Numbers and times go on.
  package mutating func switchRendition() {
    self.pacer.dropVideo()
    self.countedDrops = self.pacer.dropCounts.frames
  }

  /// Seals and appends everything that may leave now.
  ///
  /// - Returns: When there is more to send; nil while nothing waits for its time.
  @discardableResult
  package mutating func drain(into batch: inout DatagramBatch, at now: MediaTime) -> MediaTime? {
    for (datagram, address) in self.responses { batch.append(datagram, to: address) }
    self.responses.removeAll(keepingCapacity: true)
    guard self.isReady, let address = self.transport.selectedAddress else { return nil }
    while let release = self.pacer.release(at: now) { self.send(release, to: address, into: &batch, at: now) }
    self.countDrops(at: now)
    return self.nextSending
  }
}
